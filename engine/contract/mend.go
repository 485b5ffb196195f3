package contract

import "bytes"

// mend judges what local mending makes of a text that the scan refused (design section 9, local). ok is false if the
// verdict on the text as it came stands: always without the option, for a text that is cut or holds several values, and
// where neither layers nor syntax explain the fault.
func (c *Contract) mend(text []byte, refused scanned) (v Verdict, ok bool) {
	if c.local == LocalNone || refused.fault.class != NotJSON || refused.cut {
		return Verdict{}, false
	}
	var o scanned
	whole := func(inner []byte) bool {
		o = c.scan(string(inner))
		return o.fault == nil
	}
	inner, rest := unwrap(text, whole)
	if inner != nil {
		return c.derived(LocalUnwrap, inner, o), true
	}
	if c.local != LocalSyntax {
		return Verdict{}, false
	}
	fixed, ok := mendSyntax(rest)
	if !ok || !whole(fixed) {
		return Verdict{}, false
	}
	v = c.derived(LocalSyntax, fixed, o)
	return v, v.Err == nil && (v.Class == OK || v.Class == RuleFailed)
}

// derived judges a text that was made of the candidate.
func (c *Contract) derived(how string, text []byte, o scanned) Verdict {
	v := c.judgeValue(string(text), o)
	v.Mended, v.Derived = how, bytes.Clone(text)
	return v
}
