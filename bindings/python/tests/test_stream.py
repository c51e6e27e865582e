import asyncio
import gc
import threading
import weakref

import numpy as np
import pytest
from conftest import PATIENCE, SHORT, open_tts, samples

import libqwen
from libqwen import _job

LONG = {"speaker": "vivian", "seed": 7, "max_new_tokens": 2000}


@pytest.fixture(autouse=True)
def settled():
    """What a test has stopped, without waiting for it, ends before the next test."""
    yield
    assert all(job._done.wait(PATIENCE) for job in list(_job._running))


def idle():
    """No job is under way."""
    return not list(_job._running)


def test_stream_is_the_whole(customvoice, expected):
    stream = customvoice.stream("Hello world.", speaker="vivian", **SHORT)
    assert stream.info is None
    chunks = list(stream)
    assert [len(c) for c in chunks] == [1920] * 8
    assert all(c.dtype == np.float32 for c in chunks)
    np.testing.assert_allclose(np.concatenate(chunks), expected.samples, atol=2e-6)
    assert stream.info.finish_reason == "length" and stream.info.seed == 42
    assert list(stream) == []
    stream.close()
    assert idle()


def test_chunks_own_their_memory(customvoice):
    first, second, *_ = chunks = list(customvoice.stream("Hello world.", speaker="vivian", **SHORT))
    copy = first.copy()
    second[:] = 0
    gc.collect()
    np.testing.assert_array_equal(first, copy)
    assert len({c.__array_interface__["data"][0] for c in chunks}) == len(chunks)


def test_first_chunk_comes_before_the_end(customvoice):
    progress = []
    with customvoice.stream("Hi.", on_progress=progress.append, **LONG) as stream:
        next(stream)
        assert len(progress) <= 1
    assert stream.info is None and idle()


@pytest.mark.parametrize("how", ["close", "with", "drop", "break", "exception"])
def test_closed_early(customvoice, expected, how):
    def use():
        stream = customvoice.stream("Hi.", **LONG)
        if how == "close":
            next(stream)
            stream.close()
            assert list(stream) == []
        elif how == "with":
            with stream:
                next(stream)
        elif how == "break":
            for _ in stream:
                break
        elif how == "exception":
            with stream:
                raise ZeroDivisionError
        return

    try:
        use()
    except ZeroDivisionError:
        assert how == "exception"
    gc.collect()
    again = customvoice.synthesize("Hello world.", speaker="vivian", **SHORT)  # its turn comes soon
    assert samples(again) == samples(expected)
    if how in ("drop", "break"):  # nobody waited for the end
        assert all(job._done.wait(PATIENCE) for job in list(_job._running))
    assert idle()


def test_a_stream_closed_before_its_first_chunk(customvoice):
    for _ in range(20):
        customvoice.stream("Hi.", **LONG).close()
    assert idle()


def test_errors_come_out_of_the_iteration(customvoice):
    stream = customvoice.stream("Hi.", speaker="nobody")
    with pytest.raises(libqwen.InvalidParams, match="nobody"):
        next(stream)
    assert list(stream) == [] and stream.info.finish_reason == "none"


def test_exception_in_progress(customvoice):
    def fail(p):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        list(customvoice.stream("Hi.", on_progress=fail, **LONG))
    assert idle()


def test_a_dropped_stream_is_collected(customvoice):
    stream = customvoice.stream("Hi.", **LONG)
    next(stream)
    job = weakref.ref(stream._events._job)
    ref = weakref.ref(stream)
    done = job()._done
    del stream
    gc.collect()
    assert ref() is None
    assert done.wait(PATIENCE)


def test_the_models_stay_while_a_stream_uses_them():
    stream = open_tts("customvoice").stream("Hello world.", speaker="vivian", **SHORT)
    gc.collect()
    assert len(list(stream)) == 8


def test_closing_the_models_ends_a_stream():
    tts = open_tts("customvoice")
    stream = tts.stream("Hi.", **LONG)
    next(stream)
    tts.close()
    with pytest.raises(libqwen.Cancelled, match="closed"):
        list(stream)
    assert idle()


class TestAsync:
    def test_stream(self, customvoice, expected):
        async def main():
            stream = customvoice.astream("Hello world.", speaker="vivian", **SHORT)
            chunks = [chunk async for chunk in stream]
            return chunks, stream.info

        chunks, info = asyncio.run(main())
        np.testing.assert_allclose(np.concatenate(chunks), expected.samples, atol=2e-6)
        assert info.finish_reason == "length"

    def test_synthesize(self, customvoice, expected):
        audio = asyncio.run(customvoice.asynthesize("Hello world.", speaker="vivian", **SHORT))
        assert samples(audio) == samples(expected)

    def test_many_at_once(self, customvoice, expected):
        async def main():
            return await asyncio.gather(
                *(customvoice.asynthesize("Hello world.", speaker="vivian", **SHORT) for _ in range(5))
            )

        assert {samples(a) for a in asyncio.run(main())} == {samples(expected)}

    def test_the_loop_goes_on(self, customvoice):
        async def main():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(tick())
            await customvoice.asynthesize("Hi.", speaker="vivian", **SHORT)
            task.cancel()
            return ticks

        assert asyncio.run(main()) > 3

    def test_closed_early(self, customvoice):
        async def main():
            async with customvoice.astream("Hi.", **LONG) as stream:
                async for _ in stream:
                    break
            assert [c async for c in stream] == []
            stream = customvoice.astream("Hi.", **LONG)
            await anext(stream)
            await stream.aclose()

        asyncio.run(main())
        assert idle()

    def test_cancelling_the_task_stops(self, customvoice):
        async def main():
            loop, speaking = asyncio.get_running_loop(), asyncio.Event()

            def seen(_):
                loop.call_soon_threadsafe(speaking.set)

            task = asyncio.create_task(customvoice.asynthesize("Hi.", on_progress=seen, **LONG))
            await speaking.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        for job in list(_job._running):
            job.join()
        assert idle()

    def test_errors(self, customvoice):
        async def main():
            with pytest.raises(libqwen.InvalidParams, match="nobody"):
                await customvoice.asynthesize("Hi.", speaker="nobody")

            def fail(p):
                raise ZeroDivisionError("mine")

            with pytest.raises(ZeroDivisionError, match="mine"):
                await customvoice.asynthesize("Hi.", on_progress=fail, **LONG)
            with pytest.raises(TypeError, match="unexpected"):
                customvoice.astream("Hi.", nonsense=1)

        asyncio.run(main())

    def test_a_loop_that_is_gone(self, customvoice, expected):
        async def main():
            return customvoice.astream("Hi.", **LONG)

        stream = asyncio.run(main())  # nobody will take its audio
        assert stream._job._done.wait(PATIENCE)
        assert samples(customvoice.synthesize("Hello world.", speaker="vivian", **SHORT)) == samples(expected)


class TestMany:
    def test_in_order(self, customvoice):
        texts = ["One.", {"text": "Two.", "speaker": "ryan"}, "Three.", {"text": "Four.", "seed": 9}]
        many = list(customvoice.synthesize_many(texts, speaker="vivian", **SHORT))
        for item, audio in zip(texts, many, strict=True):
            options = {"text": item} if isinstance(item, str) else item
            assert samples(audio) == samples(customvoice.synthesize(**{"speaker": "vivian", **SHORT, **options}))

    def test_items_are_taken_as_needed(self, customvoice):
        taken = []

        def endless():
            while True:
                taken.append(1)
                yield "Hi."

        many = customvoice.synthesize_many(endless(), speaker="vivian", concurrency=3, **SHORT)
        assert not taken
        next(many)
        next(many)
        assert len(taken) <= 5
        many.close()
        assert idle()

    def test_errors(self, customvoice):
        items = ["One.", {"text": "Two.", "speaker": "nobody"}, {"text": "Th\0ree."}, {"nothing": 1}, "Five."]
        many = customvoice.synthesize_many(items[:3] + items[4:], speaker="vivian", return_errors=True, **SHORT)
        kinds = [type(x) for x in many]
        assert kinds == [libqwen.Audio, libqwen.InvalidParams, libqwen.InvalidParams, libqwen.Audio]
        wrong = [*items[3:4], {"text": 7}, {"text": "x", "ref_audio": "none.wav"}, "Last."]
        many = customvoice.synthesize_many(wrong, speaker="vivian", return_errors=True, **SHORT)
        assert [type(x) for x in many] == [TypeError, TypeError, FileNotFoundError, libqwen.Audio]
        with pytest.raises(libqwen.InvalidParams, match="nobody"):
            list(customvoice.synthesize_many(items, speaker="vivian", **SHORT))
        with pytest.raises(TypeError, match="nothing"):
            list(customvoice.synthesize_many(items[3:], speaker="vivian", **SHORT))
        with pytest.raises(libqwen.InvalidParams, match="concurrency"):
            customvoice.synthesize_many([], concurrency=0)
        with pytest.raises(TypeError, match="unexpected"):
            customvoice.synthesize_many([], nonsense=1)
        assert idle()

    def test_together(self, expected):
        """Computed together, with few that may wait: nobody is turned away, and each sounds as it does alone."""
        with open_tts("customvoice", max_batch=3, max_queue=1) as tts:
            many = list(tts.synthesize_many(["Hello world."] * 7, speaker="vivian", **SHORT))
        for audio in many:
            np.testing.assert_allclose(audio.samples, expected.samples, atol=2e-6)

    def test_none(self, customvoice):
        assert list(customvoice.synthesize_many([])) == []


class TestThreads:
    def test_one_tts_many_threads(self, customvoice, expected):
        results, errors = [], []

        def work(i):
            try:
                if i % 3 == 0:
                    with pytest.raises(libqwen.InvalidParams):
                        customvoice.synthesize("Hi.", speaker="nobody")
                if i % 3 == 1:
                    customvoice.stream("Hi.", **LONG).close()
                results.append(samples(customvoice.synthesize("Hello world.", speaker="vivian", **SHORT)))
            except BaseException as err:
                errors.append(err)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not errors
        assert set(results) == {samples(expected)} and len(results) == 16

    def test_busy(self):
        with open_tts("customvoice", max_queue=1) as tts, tts.stream("Hi.", **LONG) as running:
            next(running)
            waiting = [tts.stream("Hi.", **LONG) for _ in range(3)]
            refused = 0
            while refused < 2:  # one may wait
                ended = [stream for stream in waiting if stream._events._job._done.is_set()]
                for stream in ended:
                    with pytest.raises(libqwen.BusyError, match="max_queue"):
                        next(stream)
                    waiting.remove(stream)
                    refused += 1
            waiting[0].close()

    def test_close_races(self):
        """Closing while others speak, wait, stream and ask: each gets audio or an exception, and nobody hangs."""
        for round_ in range(8):
            tts = open_tts("customvoice")
            unexpected = []

            def use(call):
                try:
                    for _ in range(100):
                        call(tts)  # noqa: B023
                except libqwen.QwenError:
                    pass
                except BaseException as err:
                    unexpected.append(err)  # noqa: B023

            calls = [
                lambda t: t.synthesize("Hi.", speaker="vivian", **SHORT),
                lambda t: list(t.stream("Hi.", speaker="vivian", **SHORT)),
                lambda t: t.stream("Hi.", **LONG).close(),
                lambda t: (t.speakers, t.languages, t.num_codebooks),
            ]
            threads = [threading.Thread(target=use, args=(call,)) for call in calls]
            closers = [threading.Thread(target=tts.close) for _ in range(2)]
            for t in threads:
                t.start()
            threads[0].join(0.005 * round_)
            for t in closers:
                t.start()
            for t in threads + closers:
                t.join(PATIENCE)
                assert not t.is_alive()
            assert not unexpected
        assert idle()
