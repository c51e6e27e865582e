//go:build !cgo

package kernels

func hasQ8() bool { return false }

func q8PackAddress() uintptr { return 0 }

func q8RoundAddress() uintptr { return 0 }

func q8WideAddress() uintptr { return 0 }

func q8FewAddress() uintptr { return 0 }

func q8PanelsAddress() uintptr { return 0 }

func q8TwinAddress() uintptr { return 0 }

func q4PanelsAddress() uintptr { return 0 }

func q6PanelsAddress() uintptr { return 0 }

func attendAddress() uintptr { return 0 }
