package pipeline

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"emend/schemas"
)

func writeJSON(b *bytes.Buffer, v any) error {
	raw, err := schemas.Marshal(v)
	if err != nil {
		return errors.New("the expression makes a number that JSON has not")
	}
	b.Write(raw)
	return nil
}

func writeList(b *bytes.Buffer, l traits.Lister) error {
	b.WriteByte('[')
	first := true
	for it := l.Iterator(); it.HasNext() == types.True; first = false {
		if !first {
			b.WriteByte(',')
		}
		if err := write(b, it.Next()); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeMap(b *bytes.Buffer, m traits.Mapper) error {
	members := map[string]ref.Val{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		name, ok := k.(types.String)
		if !ok {
			return errors.New("the expression makes a map whose keys are no texts")
		}
		members[string(name)] = m.Get(k)
	}
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, members[name]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
