package cli

import (
	"fmt"
	"io"
)

// A Variable of the environment that a command heeds, as its help tells it.
type Variable struct{ Name, Means string }

// The variables that several commands heed.
func GGMLDir() Variable { return Variable{"QWEN_GGML_DIR", "folder with ggml's shared libraries"} }
func Threads() Variable { return Variable{"QWEN_THREADS", "CPU threads, if --threads is not given"} }
func Device() Variable  { return Variable{"QWEN_DEVICE", "device, if --device is not given"} }
func Sonic() Variable   { return Variable{"QWEN_SONIC", "libsonic's file (--speed), likewise"} }

// ShareWeights is for commands that speak.
func ShareWeights() Variable {
	return Variable{"QWEN_SHARE_WEIGHTS", "1 keeps the weights in memory that processes share, at some speed"}
}

// Sndfile comes before Sonic.
func Sndfile() Variable {
	return Variable{"QWEN_SNDFILE", "libsndfile's file (audio other than WAV), if it is not where the system looks"}
}

// ONNX are the variables of ONNX vocoders.
func ONNX() []Variable {
	return []Variable{
		{"QWEN_ONNXRUNTIME", "ONNX Runtime's file (ONNX vocoders), likewise"},
		{"QWEN_ONNX_PROVIDER", "what it runs on, if --onnx-provider is not given"},
	}
}

// Hub are the variables of commands that fetch models.
func Hub() []Variable {
	return []Variable{
		{"HF_ENDPOINT", "URL of another hub than https://huggingface.co"},
		{"HF_TOKEN", `token, for models that want one; else that of "hf auth login"`},
		{"HF_HUB_CACHE", "folder to keep files in; else HF_HOME/hub, else ~/.cache/huggingface/hub"},
		{"HF_HUB_OFFLINE", "1 asks no hub: only what is in the cache"},
		{"HTTPS_PROXY", "proxy, also HTTP_PROXY and NO_PROXY"},
	}
}

func printVariables(w io.Writer, variables []Variable) {
	if len(variables) == 0 {
		return
	}
	width := 0
	for _, v := range variables {
		width = max(width, len(v.Name))
	}
	fmt.Fprint(w, "\nEnvironment:\n")
	for _, v := range variables {
		fmt.Fprintf(w, "  %-*s  %s\n", width, v.Name, v.Means)
	}
}
