package lm

// FlashOnCPU are the options of flash attention on the CPU, where it is otherwise not used.
func FlashOnCPU() Options { return Options{flashOnCPU: true} }
