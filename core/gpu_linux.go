package core

import "path/filepath"

// gpuFiles match the device files by which the drivers of GPUs are reached: of the kernel's graphics (also of hardware
// that ggml's Vulkan backend uses), NVIDIA's desktop and Jetson, AMD's compute, Windows' GPUs below WSL, Moore Threads',
// Huawei's, Qualcomm's and Arm's.
var gpuFiles = []string{"dri/*", "nvidia*", "nvhost*", "nvgpu*", "kfd", "dxg", "mtgpu*", "davinci*", "kgsl*", "mali*", "accel*"}

// mayHaveGPU tells whether there can be a GPU here. To load the backends of GPUs takes time and tens of megabytes, above
// all where nothing but a software device comes of it. dev is where device files are: /dev.
func mayHaveGPU(dev string) bool {
	for _, pattern := range gpuFiles {
		if found, _ := filepath.Glob(filepath.Join(dev, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}
