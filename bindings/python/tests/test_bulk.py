"""Many texts into files."""

import io
import json
import math
import wave

import pytest
from conftest import SHORT, assert_wav, open_tts, samples

import libqwen
from libqwen import bulk, compat

DEFAULTS = {"speaker": "vivian", **SHORT}


def item(row, **defaults):
    return bulk.Plan(defaults, "folder").item(1, row)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def write_items(folder, *rows):
    path = folder / "items.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


class TestItems:
    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"text": "x"}, "id: want a string"),
            ({"id": 7, "text": "x"}, "id: want a string that is not empty, found 7"),
            ({"id": "a"}, "text: missing"),
            ({"id": "a", "text": " "}, "text: missing"),
            ({"id": "a", "text": 7}, "text: want a string, found 7"),
            ({"id": "a", "text": "x", "sped": 2}, "unknown field 'sped'; there are id, do_sample"),
            ({"id": "a", "text": "x", "piece_chars": 9}, "piece_chars needs long"),
            ({"id": "a", "text": "x", "seed": "7"}, "seed: want a whole number, found '7'"),
            ({"id": "a", "text": "x", "seed": 1.5}, "seed: want a whole number, found 1.5"),
            ({"id": "a", "text": "x", "seed": math.inf}, "seed: want a whole number, found inf"),
            ({"id": "a", "text": "x", "greedy": 1}, "greedy: want true or false, found 1"),
            ({"id": "a", "text": "x", "temp": 1, "temperature": 1}, "temperature: given twice"),
            ({"id": "a", "text": "x", "format": "aac"}, "format: 'aac', want one of wav"),
            ({"id": "a", "text": "x", "voice": "v", "ref_audio": "r"}, "voice and ref_audio exclude each other"),
            ({"id": "a", "text": "x", "ref_spk": "s", "ref_audio": "r"}, "ref_audio and ref_spk exclude each other"),
            ({"id": "a", "text": "x", "ref_spk": "s", "ref_rvq": "r"}, "ref_rvq needs ref_spk and ref_text"),
            ({"id": "a", "text": "x", "voice": "v", "trim_ref": True}, "trim_ref needs ref_audio"),
            ({"id": "a" * 201, "text": "x"}, "id: 201 bytes"),
            (ValueError("broken"), "broken"),
        ],
    )
    def test_wrong(self, row, message):
        with pytest.raises(libqwen.InvalidParams, match=message):
            item(row)

    def test_tables_have_nothing_where_a_field_is_missing(self):
        found = item({"id": "a", "text": "x", "seed": 7.0, "speaker": None, "temperature": math.nan})
        assert found.fields == {"text": "x", "seed": 7}

    def test_defaults(self):
        found = item({"id": "a", "text": "x", "max_new": 3}, seed=1, max_new_tokens=9)
        assert found.fields == {"text": "x", "seed": 1, "max_new_tokens": 3}
        found = item({"id": "a", "text": "x", "ref_audio": "clip.wav"}, voice="/v.qvoice", ref_text="y")
        assert found.fields == {"text": "x", "ref_audio": "folder/clip.wav"}
        found = item({"id": "a", "text": "x", "ref_spk": "a.spk"}, ref_audio="/clip.wav", trim_ref=True)
        assert found.fields == {"text": "x", "ref_spk": "folder/a.spk"}
        found = item({"id": "a", "text": "x", "trim_ref": True}, ref_audio="/clip.wav", ref_text="y")
        assert found.fields == {"text": "x", "ref_audio": "/clip.wav", "ref_text": "y", "trim_ref": True}

    def test_no_two_have_the_same_files(self):
        plan = bulk.Plan({})
        plan.item(1, {"id": "a/b", "text": "x"})
        with pytest.raises(libqwen.InvalidParams, match="would have the files of line 1"):
            plan.item(2, {"id": "A_B", "text": "x"})

    @pytest.mark.parametrize(
        ("name", "want"),  # those of cmd/qwen-tts
        {
            "chapter 1": "chapter 1", "第一章": "第一章", "../../etc/passwd": "_._.._etc_passwd", "..": "__",
            "a\\b:c*\0\n": "a_b_c___", ".hidden": "_hidden", "-o": "_o", "end. ": "end._", "NUL": "_NUL",
            "com1.x": "_com1.x", "/": "_", "e\u0301": "é",
        }.items(),
    )  # fmt: skip
    def test_file_names(self, name, want):
        assert bulk.file_name(name) == want

    def test_lines(self, tmp_path):
        path = tmp_path / "items.jsonl"
        path.write_bytes(b'\xef\xbb\xbf{"id": "a"}\r\n\n[]\n{"id": 1, "id": 2}\n\xff\n{')
        kinds = [row if isinstance(row, dict) else str(row) for row in bulk.read_items(path)]
        assert kinds[0] == {"id": "a"}
        assert kinds[1] == {}
        assert kinds[2] == "not a JSON object"
        assert "given twice" in kinds[3]
        assert all(kind.startswith("not a JSON object: ") for kind in kinds[4:])

    def test_hash(self, tmp_path):
        model = tmp_path / "m.gguf"
        model.write_bytes(b"x" * 100000)
        hasher = bulk.Hasher([model, None])
        plain = hasher.of(item({"id": "a", "text": "x"}))
        assert hasher.of(item({"id": "b", "text": "x"})) == plain
        assert hasher.of(item({"id": "a", "text": "y"})) != plain
        model.write_bytes(b"x" * 99999 + b"y")
        assert bulk.Hasher([model]).of(item({"id": "a", "text": "x"})) != plain
        with pytest.raises(FileNotFoundError):
            bulk.Hasher([tmp_path / "none"])


@pytest.fixture(scope="module")
def tts():
    with open_tts("customvoice", max_batch=3) as tts:
        yield tts


class TestSpeak:
    def test_files_and_results(self, tts, tmp_path, expected):
        rows = [{"id": f"i{i}", "text": "Hello world."} for i in range(5)]
        results = list(bulk.speak(tts, write_items(tmp_path, *rows), tmp_path / "out", **DEFAULTS))
        assert [r["id"] for r in results] == [row["id"] for row in rows]
        assert names(tmp_path / "out") == sorted(f"i{i}.{end}" for i in range(5) for end in ("wav", "json"))
        for r in results:
            assert json.loads((tmp_path / "out" / f"{r['id']}.json").read_text()) == r
            assert (r["ok"], r["frames"], r["seed"], r["finish"]) == (True, 8, 42, "length")
            assert r["seconds"] == 0.64
            assert len(r["warnings"]) == 1
            assert_wav(tmp_path / "out" / r["audio"], expected)

    def test_goes_on_after_failures(self, tts, tmp_path):
        path = write_items(
            tmp_path, {"id": "a", "text": "A."}, "broken", {"id": "b", "text": "B.", "speaker": "nobody"}, "",
            {"id": "c", "text": "C.", "ref_audio": "none.wav"}, {"id": "a", "text": "again"},
            {"id": "d", "text": "D.", "format": "pcm", "greedy": True},
        )  # fmt: skip
        results = list(bulk.speak(tts, path, tmp_path / "out", **DEFAULTS))
        assert [(r["line"], r["id"], r["ok"]) for r in results] == [
            (2, None, False), (6, "a", False), (1, "a", True), (3, "b", False), (5, "c", False), (7, "d", True)
        ]  # fmt: skip
        assert [r["error"]["kind"] for r in results if r["error"]] == ["invalid", "invalid", "invalid", "io"]
        assert "nobody" in results[3]["error"]["message"]
        assert names(tmp_path / "out") == ["a.json", "a.wav", "b.json", "c.json", "d.json", "d.pcm"]

    def test_long_texts(self, tts, tmp_path):
        row = {"id": "a", "text": "One two. Three four.", "long": True, "piece_chars": 12}
        (result,) = bulk.speak(tts, [row], tmp_path, **DEFAULTS)
        assert (result["ok"], result["frames"]) == (True, 16)

    def test_takes_up(self, tts, tmp_path):
        rows = [{"id": "a", "text": "A."}, {"id": "b", "text": "B."}, {"id": "c", "text": "C."}]

        def run(**defaults):
            results = list(bulk.speak(tts, rows, tmp_path, **{**DEFAULTS, **defaults}))
            assert all(r["ok"] for r in results)
            return [r["id"] for r in results if "done_before" not in r]

        assert run() == ["a", "b", "c"]
        assert run() == []
        (tmp_path / "b.wav").write_bytes(b"")
        (tmp_path / "c.json").unlink()
        assert run() == ["b", "c"]
        rows[0] = {"id": "a", "text": "Another.", "format": "pcm"}
        assert run() == ["a"]
        assert names(tmp_path) == ["a.json", "a.pcm", "b.json", "b.wav", "c.json", "c.wav"]
        assert run(temperature=0.5) == ["a", "b", "c"]

    def test_a_changed_item_that_fails_has_no_audio(self, tts, tmp_path):
        list(bulk.speak(tts, [{"id": "a", "text": "A."}], tmp_path, **DEFAULTS))
        list(bulk.speak(tts, [{"id": "a", "text": "A.", "max_new": -1}], tmp_path, **DEFAULTS))
        assert names(tmp_path) == ["a.json"]

    def test_closed(self, tmp_path):
        tts = open_tts("customvoice")
        speaking = bulk.speak(tts, [{"id": "a", "text": "A."}], tmp_path, **DEFAULTS)
        tts.close()
        with pytest.raises(libqwen.ClosedError):
            list(speaking)
        assert names(tmp_path) == []


def with_silence(clip):
    """The recording after half a second of nothing."""
    with wave.open(str(clip)) as file:
        params, data = file.getparams(), file.readframes(file.getnframes())
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams(params)
        file.writeframes(bytes(params.framerate * params.sampwidth * params.nchannels // 2) + data)
    return out.getvalue()


def test_voices(base, clip, tmp_path):
    taken = libqwen.Voice.from_wav(base, clip, text="What is said.")
    taken.save(tmp_path / "v.qvoice")
    compat.VoiceRef(taken.x_vector, taken.codes).save(tmp_path / "v.spk", tmp_path / "v.rvq")
    (tmp_path / "quiet.wav").write_bytes(with_silence(clip))
    path = write_items(
        tmp_path, {"id": "in context", "text": "Hello.", "voice": "v.qvoice"},
        {"id": "vector", "text": "Hello.", "voice": "v.qvoice", "x_vector_only": True},
        {"id": "recording", "text": "Hello.", "ref_audio": str(clip), "ref_text": "What is said."},
        {"id": "none", "text": "Hello.", "voice": "none.qvoice"},
        {"id": "files", "text": "Hello.", "ref_spk": "v.spk", "ref_rvq": "v.rvq", "ref_text": "What is said."},
        {"id": "spk", "text": "Hello.", "ref_spk": "v.spk"},
        {"id": "trimmed", "text": "Hello.", "ref_audio": "quiet.wav", "trim_ref": True},
    )  # fmt: skip
    results = {r["id"]: r for r in bulk.speak(base, path, tmp_path / "out", format="wav32", **SHORT)}
    assert results["none"]["error"]["kind"] == "io"

    def audio(name):
        return (tmp_path / "out" / f"{name}.wav").read_bytes()

    voice = libqwen.Voice.load(base, tmp_path / "v.qvoice")
    spoken = base.synthesize("Hello.", voice=voice, **SHORT)
    assert audio("in context") == spoken.encode("wav32") == audio("recording")
    plain = base.synthesize("Hello.", voice=libqwen.Voice(voice.x_vector), **SHORT)
    assert audio("vector") == plain.encode("wav32") == audio("spk")
    assert audio("files") == audio("in context")
    trimmed = libqwen.Voice.from_wav(base, tmp_path / "quiet.wav", trim=True)
    assert audio("trimmed") == base.synthesize("Hello.", voice=trimmed, **SHORT).encode("wav32")
    whole = libqwen.Voice.from_wav(base, tmp_path / "quiet.wav")
    assert audio("trimmed") != base.synthesize("Hello.", voice=whole, **SHORT).encode("wav32")
    assert samples(plain) != samples(spoken)
