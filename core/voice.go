package core

// Voice is what is known of a reference speaker.
type Voice struct {
	XVector []float32 // [talker width]
	Codes   [][]int32 // [frames][codebooks]; optional, needs Request.RefText
}
