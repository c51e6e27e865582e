package main

// fieldFlags are the flags that set the fields of the engine's options and what it is given.
var fieldFlags = map[string]string{
	"codec_path": "--model", "talker_path": "--talker", "device": "--device", "threads": "--threads", "pcm_24k": "-i", "ref_audio_24k": "-i",
}
