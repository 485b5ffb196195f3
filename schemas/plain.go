package schemas

import "math/bits"

// Plain is how many bytes s begins with that a JSON string has as they are: printable ASCII but quote and backslash. It looks at eight
// at a time: texts are most of what is read and written.
func Plain[T string | []byte](s T) int { return leading(s, tops) }

// Inside is how many bytes s begins with that neither end a JSON string nor escape, nor may not be in one: all but quote, backslash
// and control characters.
func Inside[T string | []byte](s T) int { return leading(s, 0) }

// leading counts the bytes that are neither below ' ', nor a quote, nor a backslash, nor have a bit of high in their place.
func leading[T string | []byte](s T, high uint64) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		if m := marked(x, high); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || uint64(c)&high&0x80 != 0 {
			break
		}
	}
	return i
}

const ones, tops = 0x0101010101010101, 0x8080808080808080

// marked has the top bit of the first byte of x that does not count, and perhaps those of bytes behind it; 0 where all count.
//
// A byte below n borrows from its own top bit in x-n·ones; the borrow reaches only bytes behind it.
func marked(x, high uint64) uint64 {
	quote, backslash := x^'"'*ones, x^'\\'*ones
	below := (x - ' '*ones) &^ x
	zero := (quote-ones)&^quote | (backslash-ones)&^backslash
	return (below|zero)&tops | x&high
}
