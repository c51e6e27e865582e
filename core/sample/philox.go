package sample

import "math/bits"

// Philox4x32 is the counter-based generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3" (2011): four random words for each counter and key.
func Philox4x32(counter [4]uint32, key [2]uint32) [4]uint32 {
	const (
		rounds       = 10
		mul0, mul1   = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85 // golden ratio, sqrt(3)-1
	)
	for range rounds {
		hi0, lo0 := bits.Mul32(mul0, counter[0])
		hi1, lo1 := bits.Mul32(mul1, counter[2])
		counter = [4]uint32{hi1 ^ counter[1] ^ key[0], lo1, hi0 ^ counter[3] ^ key[1], lo0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return counter
}

// Uniform returns the random number in [0, 1) that decides a code: a multiple of 2^-24, the upper bits of the first
// word of Philox4x32-10 with
//
//	key     = seed (low word, high word)
//	counter = frame (low word, high word), codebook, 0
//
// So each codebook has a stream of its own: 0 is the Talker's, the others are the CodePredictor's. A draw depends on
// nothing else, and the codes are the same for any batch, chunking, order or number of threads.
func Uniform(seed int64, frame, codebook int) float32 {
	key := [2]uint32{uint32(seed), uint32(uint64(seed) >> 32)}
	counter := [4]uint32{uint32(frame), uint32(uint64(frame) >> 32), uint32(codebook), 0}
	return float32(Philox4x32(counter, key)[0]>>8) * 0x1p-24
}
