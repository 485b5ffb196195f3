package contract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Seed 001's order, as the model wrote it and as a good repair returns it.
const (
	orderBefore = `{"order_id":"A-1043","customer":"Dana Ruiz","items":[
  {"sku":"SKU-11","qty":2,"price":19.5},
  {"sku":"SKU-42","qty":1,"price":7},
  {"sku":"SKU-7","qty":3,"price":"4.25 USD"}
],"total":56.75}`
	orderAfter = `{"order_id":"A-1043","customer":"Dana Ruiz","items":[
  {"sku":"SKU-11","qty":2,"price":19.5},
  {"sku":"SKU-42","qty":1,"price":7},
  {"sku":"SKU-7","qty":3,"price":4.25}
],"total":56.75}`
	orderPath = "/items/2/price"
)

// TestSeed001Preservation: the good repair passes, every near miss that the seed names is caught at its place.
func TestSeed001Preservation(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	for _, k := range []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"other layout and order", orderAfter, `{"total":56.75,"items":[{"sku":"SKU-11","qty":2,"price":19.5},` +
			`{"sku":"SKU-42","qty":1,"price":7},{"qty":3,"price":4.25,"sku":"SKU\u002d7"}],"customer":"Dana Ruiz","order_id":"A-1043"}`, ""},
		{"order_id becomes a nested object", `"A-1043"`, `{"prefix":"A","number":1043}`, `/order_id "A-1043"`},
		{"a trailing key is dropped", `,"total":56.75`, ``, `/total 56.75`},
		{"the total is recomputed", `56.75`, `58.75`, `/total 56.75`},
		{"a sibling number is rewritten", `19.5`, `19.50`, `/items/0/price 19.5`},
		{"a key is added", `"total"`, `"currency":"USD","total"`, `/currency -`},
		{"an item is added", `4.25}`, `4.25},{}`, `/items/3 -`},
		{"an item is dropped", `{"sku":"SKU-11","qty":2,"price":19.5},`, ``,
			`/items/0/sku "SKU-11"; /items/0/qty 2; /items/0/price 19.5; /items/1/sku "SKU-42"; /items/1/qty 1; /items/1/price 7; ` +
				`/items/2 {"sku":"SKU-7","qty":3,"price":"4.25 USD"}`},
	} {
		after := strings.Replace(orderAfter, k.old, k.new, 1)
		if got := changesText(c.Changed([]byte(orderBefore), []byte(after), []string{orderPath})); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
	}
}

func changesText(list []Change) string {
	out := []string{}
	for _, c := range list {
		before := string(c.Before)
		if c.Before == nil {
			before = "-"
		}
		out = append(out, c.Pointer+" "+before)
	}
	return strings.Join(out, "; ")
}

func TestChanged(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	for _, k := range []struct{ before, after, allowed, want string }{
		{`1`, `1.0`, "-", ` 1`},
		{`1`, `2`, "", ``},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, "-", ``},
		{`"\u0041/"`, `"A\/"`, "-", ``},
		{`"A"`, `"a"`, "-", ` "A"`},
		{`{"a":{"b":1}}`, `{"a":[1]}`, "-", `/a {"b":1}`},
		{`{"a":[1]}`, `{"a":"[1]"}`, "/a/0", `/a [1]`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":9,"c":2}}`, "/a/b", ``},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":2}}`, "/a/b", ``},
		{`{"a":{"b":1,"c":2}}`, `{}`, "/a/b", `/a {"b":1,"c":2}`},
		{`{"a":{}}`, `{"a":{"b":{"c":[1]}}}`, "/a/b", ``},
		{`{}`, `{"a":{"b":1}}`, "/a/b", ``},
		{`{}`, `{"a":{"b":1,"c":2}}`, "/a/b", `/a/c -`},
		{`{}`, `{"a":{}}`, "/a/b", `/a -`},
		{`{}`, `{"a":[0,1]}`, "/a/1", `/a/0 -`},
		{`[1,2,3]`, `[1]`, "-", `/1 2; /2 3`},
		{`[1]`, `[1,2,3]`, "/2", `/1 -`},
		{`{"a":[1,2],"b":0}`, `{"a":{"x":3},"b":1}`, "/a", `/b 0`},
		{`{"":1,"a~/b":2}`, `{"":2,"a~/b":3}`, "-", `/ 1; /a~0~1b 2`},
		{`{"":1,"a~/b":2}`, `{"":2,"a~/b":3}`, "/ /a~0~1b", ``},
		{`{"z":1,"a":2}`, `{"new":0,"a":3,"z":4}`, "-", `/z 1; /a 2; /new -`},
		{`{"a":1}`, `{"a":2}`, "a", `/a 1`},
		{`[true,null]`, `[false,null]`, "-", `/0 true`},
		{`{"a":1`, `{"b":1}`, "-", ``},
		{`{"b":1}`, `{"a":1`, "-", ``},
		{`{"a":1,"a":2}`, `{"b":1}`, "-", ``},
	} {
		allowed := strings.Fields(k.allowed)
		switch k.allowed {
		case "-":
			allowed = nil
		case "":
			allowed = []string{""}
		}
		if got := changesText(c.Changed([]byte(k.before), []byte(k.after), allowed)); got != k.want {
			t.Errorf("%s to %s, allowed %s: %s, want %s", k.before, k.after, k.allowed, got, k.want)
		}
	}
}

// TestChangedDuplicates: under last_wins the last of equal keys is compared, in whatever place it stands.
func TestChangedDuplicates(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json", LastWins: true})
	if got := changesText(c.Changed([]byte(`{"a":1,"b":0,"a":2}`), []byte(`{"b":0,"a":2}`), nil)); got != "" {
		t.Errorf("changes %s", got)
	}
	if got := changesText(c.Changed([]byte(`{"a":1,"b":0,"a":2}`), []byte(`{"b":0,"a":1}`), nil)); got != "/a 2" {
		t.Errorf("changes %s", got)
	}
}

// TestChangedMasks: a key that the schema names nowhere is not shown, whether it was there before or came.
func TestChangedMasks(t *testing.T) {
	c := schemaContract(t, `{"properties":{"items":{}}}`)
	list := c.Changed([]byte(`{"items":[{"secret":1}]}`), []byte(`{"items":[{"secret":2}],"mine":1}`), nil)
	if len(list) != 2 || list[0].Masked != "/items/0/*" || list[1].Masked != "/*" || list[1].Pointer != "/mine" {
		t.Errorf("changes %+v", list)
	}
}

// TestChangedIsBounded: at most 100 changes, and the deepest and the widest texts end.
func TestChangedIsBounded(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	ones, twos := "["+strings.Repeat("1,", 5000)+"1]", "["+strings.Repeat("2,", 5000)+"2]"
	if n := len(c.Changed([]byte(ones), []byte(twos), nil)); n != maxChanges {
		t.Errorf("%d changes", n)
	}
	if n := len(c.Changed([]byte("{}"), []byte(wide(5000)), nil)); n != maxChanges {
		t.Errorf("%d added keys", n)
	}
	deep := strings.Repeat("[", maxDepth) + "%d" + strings.Repeat("]", maxDepth)
	want := strings.Repeat("/0", maxDepth) + " 1"
	if got := changesText(c.Changed(fmt.Appendf(nil, deep, 1), fmt.Appendf(nil, deep, 2), nil)); got != want {
		t.Errorf("changes %s", got)
	}
}

func wide(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// TestChangedProperties: a value does not differ from itself, everything may change under the root, and what changes at
// an allowed place only is no change.
func TestChangedProperties(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	rapid.Check(t, func(t *rapid.T) {
		oneForm := strings.NewReplacer("1.0", "1") // lexemes count, so equal numbers are written alike
		a := []byte(oneForm.Replace(genValue(3).Draw(t, "a")))
		b := []byte(oneForm.Replace(genValue(3).Draw(t, "b")))
		if list := c.Changed(a, append(bytes.Clone(a), ' '), nil); list != nil {
			t.Fatalf("%s differs from itself: %s", a, changesText(list))
		}
		list := c.Changed(a, b, nil)
		if (len(list) == 0) != (canonOf(a) == canonOf(b)) {
			t.Fatalf("%s and %s: %s", a, b, changesText(list))
		}
		var pointers []string
		for _, ch := range list {
			pointers = append(pointers, ch.Pointer)
		}
		if left := c.Changed(a, b, pointers); left != nil {
			t.Fatalf("%s and %s: %s beside %q", a, b, changesText(left), pointers)
		}
	})
}

func canonOf(text []byte) string { return string(appendCanon(nil, scan(text, true, false).value)) }

func FuzzChanged(f *testing.F) {
	f.Add([]byte(orderBefore), []byte(orderAfter), orderPath)
	f.Add([]byte(`{"a":[1,{"b":2}]}`), []byte(`{"a":{}}`), "/a/1/b")
	f.Add([]byte(`[[]]`), []byte(`[`), "")
	c := mustCompile(f, Spec{Mode: "json", LastWins: true})
	f.Fuzz(func(t *testing.T, before, after []byte, allowed string) {
		if list := c.Changed(before, append(bytes.Clone(before), '\n'), nil); list != nil {
			t.Fatalf("%q differs from itself: %s", before, changesText(list))
		}
		for _, ch := range c.Changed(before, after, []string{allowed}) {
			if allowed == "" || ch.Pointer == allowed || strings.HasPrefix(ch.Pointer, allowed+"/") {
				t.Fatalf("%q to %q: %s although %q may change", before, after, ch.Pointer, allowed)
			}
		}
	})
}
