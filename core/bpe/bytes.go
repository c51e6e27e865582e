package bpe

// BPE vocabularies spell each byte as one printable character (the GPT-2
// alphabet): a byte that prints as itself stays, the other 68 take the code
// points from U+0100 on, in byte order. A space is thus U+0120 'Ġ'.

// byteRune is the character that spells each byte.
var byteRune = func() (t [256]rune) {
	next := rune(256)
	for b := range t {
		if printable(b) {
			t[b] = rune(b)
			continue
		}
		t[b] = next
		next++
	}
	return t
}()

// runeByte is the inverse of byteRune; -1 where no byte is spelt so. The
// alphabet ends at U+0143: 256 plus the 68 bytes that do not print.
var runeByte = func() (t [256 + 68]int16) {
	for i := range t {
		t[i] = -1
	}
	for b, r := range byteRune {
		t[r] = int16(b)
	}
	return t
}()

func printable(b int) bool {
	return '!' <= b && b <= '~' || 0xa1 <= b && b <= 0xac || 0xae <= b
}

// spelling returns the bytes that a token's text spells, appended to dst; false
// if some character is not of the alphabet.
func spelling(dst []byte, token string) ([]byte, bool) {
	for _, r := range token {
		if int(r) >= len(runeByte) || runeByte[r] < 0 {
			return dst, false
		}
		dst = append(dst, byte(runeByte[r]))
	}
	return dst, true
}
