package providertest

import (
	"slices"
	"testing"
)

func TestAShapeWithoutAFixtureIsFound(t *testing.T) {
	all := map[Shape]Fixture{}
	for _, shape := range Shapes() {
		all[shape] = Fixture{Body: "{}"}
	}
	all[Filtered] = Fixture{Impossible: "the wire has no filter"}
	if got := missing(Subject{Fixtures: all}); got != nil {
		t.Errorf("missing %q", got)
	}
	delete(all, Refusal)
	all[UsageNull] = Fixture{Names: []string{"x"}}
	if got, want := missing(Subject{Fixtures: all}), []Shape{Refusal, UsageNull}; !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

func TestShapesAreNamedOnce(t *testing.T) {
	shapes := Shapes()
	slices.Sort(shapes)
	if n := len(slices.Compact(slices.Clone(shapes))); n != len(shapes) {
		t.Errorf("%d of %d shapes are distinct", n, len(shapes))
	}
}
