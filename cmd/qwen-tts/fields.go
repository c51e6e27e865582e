package main

// fieldFlags are the flags that set the fields of a request and of the engine's options.
var fieldFlags = map[string]string{
	"kv_type":     "--kv-type",
	"talker_path": "--model", "codec_path": "--codec", "device": "--device", "mode": "--mode", "threads": "--threads", "context": "--context",
	"codec_chunk_sec": "--codec-chunk-dur", "max_batch": "--concurrency",

	"lang": "--lang", "speaker": "--speaker", "instruct": "--instruct", "text_layout": "--text-layout",
	"ref_audio_24k": "--ref-wav", "ref_spk_emb": "--ref-spk", "ref_codes": "--ref-rvq", "ref_text": "--ref-text", "pcm_24k": "--ref-wav",

	"max_new_tokens": "--max-new", "dump": "--dump", "dump_dir": "--dump",
	"temperature": "--temp", "top_k": "--top-k", "top_p": "--top-p", "repetition_penalty": "--rep-pen",
	"subtalker_temperature": "--sub-temp", "subtalker_top_k": "--sub-top-k", "subtalker_top_p": "--sub-top-p",
}
