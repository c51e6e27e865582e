"""OpenAI's Python client against tts-server, and FFmpeg's decoders against what it sends.

Usage: openai_client.py URL, with the key in OPENAI_API_KEY. The server must speak with a custom_voice model and end
every request after 25 frames. It fails by an exception.
"""

import asyncio
import base64
import io
import json
import sys

import av
import openai

URL = sys.argv[1]
SECONDS = 25 * 0.08
FORMATS = ["mp3", "opus", "flac", "wav", "pcm"]
ARGS = dict(model="gpt-4o-mini-tts", voice="alloy", input="Hello world, this is a test.", instructions="cheerful", extra_body={"seed": 7, "max_new_tokens": 25})


def decode(data, fmt):
    """Seconds of audio, decoded by FFmpeg; checks rate and channels."""
    if fmt == "pcm":
        return len(data) / 2 / 24000
    samples = 0
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.audio[0]
        assert stream.codec_context.channels == 1, fmt
        rate = stream.codec_context.sample_rate
        assert rate == (48000 if fmt == "opus" else 24000), (fmt, rate)
        for frame in container.decode(stream):
            samples += frame.samples
    return samples / rate


def close(got, fmt):
    # MP3 has a delay of up to 1105 samples and whole frames of 576; Ogg and the others are exact.
    slack = 0.11 if fmt == "mp3" else 0.03
    assert abs(got - SECONDS) <= slack, f"{fmt}: {got} s, not {SECONDS}"


def formats(client):
    for fmt in FORMATS:
        whole = client.audio.speech.create(response_format=fmt, **ARGS)
        close(decode(whole.content, fmt), fmt)
        path = f"whole.{fmt}"
        whole.write_to_file(path)
        assert open(path, "rb").read() == whole.content

        with client.audio.speech.with_streaming_response.create(response_format=fmt, **ARGS) as response:
            assert response.headers["x-seed"] == "7"
            assert response.headers["content-type"].startswith("audio/")
            response.stream_to_file(f"stream.{fmt}")
        close(decode(open(f"stream.{fmt}", "rb").read(), fmt), fmt)

        with client.audio.speech.with_streaming_response.create(response_format=fmt, **ARGS) as response:
            chunks = list(response.iter_bytes(1024))
        close(decode(b"".join(chunks), fmt), fmt)

        buffered = client.audio.speech.create(response_format=fmt, **{**ARGS, "extra_body": {**ARGS["extra_body"], "stream": False}})
        close(decode(buffered.content, fmt), fmt)
    vorbis = client.audio.speech.create(**{**ARGS, "extra_body": {**ARGS["extra_body"], "response_format": "vorbis"}})
    close(decode(vorbis.content, "vorbis"), "vorbis")
    assert client.audio.speech.create(**ARGS).response.headers["content-type"] == "audio/mpeg"


def events(client):
    with client.audio.speech.with_streaming_response.create(response_format="pcm", stream_format="sse", **ARGS) as response:
        lines = [line[len("data: "):] for line in response.iter_lines() if line]
    assert lines.pop() == "[DONE]"
    *deltas, done = map(json.loads, lines)
    assert all(d["type"] == "speech.audio.delta" for d in deltas)
    close(decode(b"".join(base64.b64decode(d["audio"]) for d in deltas), "pcm"), "pcm")
    assert done["type"] == "speech.audio.done" and done["usage"]["output_tokens"] == 25
    assert done["usage"]["total_tokens"] == done["usage"]["input_tokens"] + 25


def fails(kind, code, param, call):
    try:
        call()
    except kind as e:
        assert (e.code, e.param) == (code, param), (e.code, e.param)
        assert e.request_id and e.body["message"], e
        return
    raise AssertionError(f"no {kind.__name__}")


def errors(client):
    create = client.audio.speech.create
    fails(openai.BadRequestError, "voice_not_found", "voice", lambda: create(**{**ARGS, "voice": "nobody"}))
    fails(openai.BadRequestError, "missing_required_field", "input", lambda: create(**{**ARGS, "input": ""}))
    fails(openai.BadRequestError, "invalid_speed", "speed", lambda: create(speed=9, **ARGS))
    fails(openai.BadRequestError, "unsupported_response_format", "response_format", lambda: create(response_format="aac", **ARGS))
    fails(openai.NotFoundError, "model_not_found", "model", lambda: client.models.retrieve("gpt-5"))
    fails(openai.AuthenticationError, "invalid_api_key", None, lambda: client.with_options(api_key="wrong").models.list())


def speeds(client):
    for speed in (0.5, 2):
        got = decode(client.audio.speech.create(response_format="wav", speed=speed, **ARGS).content, "wav")
        assert abs(got - SECONDS / speed) < 0.1, (speed, got)


async def concurrently():
    client = openai.AsyncOpenAI(base_url=URL + "/v1")
    answers = await asyncio.gather(*(client.audio.speech.create(response_format="pcm", **ARGS) for _ in range(8)))
    assert len({a.content for a in answers}) == 1, "the same seed, the same samples"
    await client.close()


def main():
    client = openai.OpenAI(base_url=URL + "/v1")
    assert [m.id for m in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").object == "model"
    formats(client)
    events(client)
    errors(client)
    speeds(client)
    asyncio.run(concurrently())
    print("openai", openai.__version__, "and FFmpeg, by PyAV", av.__version__, "agree with the server")


main()
