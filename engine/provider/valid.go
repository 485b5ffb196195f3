package provider

// maxNesting is how deep a reply may nest, the same bound as encoding/json's.
const maxNesting = 10000

// valid reports whether b is exactly one JSON value, as json.Valid does, at a third of its cost: the check was the largest
// part of reading a reply. It accepts what json.Valid accepts, byte for byte (FuzzValid).
func valid(b []byte) bool {
	end, ok := validValue(b, space(b, 0), 0)
	return ok && space(b, end) == len(b)
}

// space returns the next byte from i on that is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// validValue checks the value that begins at i and returns what comes after it.
func validValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > maxNesting {
		return i, false
	}
	switch c := b[i]; c {
	case '{':
		return validList(b, i+1, depth+1, '}')
	case '[':
		return validList(b, i+1, depth+1, ']')
	case '"':
		return validString(b, i+1)
	case 't':
		return validWord(b, i, "true")
	case 'f':
		return validWord(b, i, "false")
	case 'n':
		return validWord(b, i, "null")
	}
	return validNumber(b, i)
}

func validWord(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

// validList checks the members of an object or the elements of an array, up to its bracket.
func validList(b []byte, i, depth int, bracket byte) (int, bool) {
	if depth > maxNesting {
		return i, false
	}
	if i = space(b, i); i < len(b) && b[i] == bracket {
		return i + 1, true
	}
	for ok := false; ; i = space(b, i+1) {
		if bracket == '}' {
			if i, ok = validName(b, i); !ok {
				return i, false
			}
		}
		if i, ok = validValue(b, i, depth); !ok {
			return i, false
		}
		if i = space(b, i); i >= len(b) || b[i] != ',' {
			return i + 1, i < len(b) && b[i] == bracket
		}
	}
}

// validName checks a member's name and its colon; what comes after begins the value.
func validName(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	i, ok := validString(b, i+1)
	if i = space(b, i); !ok || i >= len(b) || b[i] != ':' {
		return i, false
	}
	return space(b, i+1), true
}

// validString checks a string whose quotation mark is before i.
func validString(b []byte, i int) (int, bool) {
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			n := validEscape(b[i+1:])
			if n == 0 {
				return i, false
			}
			i += n
		}
		i++
	}
	return i, false
}

// validEscape returns the length of an escape sequence without its backslash; 0 if it is none.
func validEscape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) >= 5 && hexDigit(b[1]) && hexDigit(b[2]) && hexDigit(b[3]) && hexDigit(b[4]) {
			return 5
		}
	}
	return 0
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func validNumber(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	i = digits(b, i)
	if i == from || b[from] == '0' && i > from+1 {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		from = i + 1
		if from < len(b) && (b[from] == '+' || b[from] == '-') {
			from++
		}
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
