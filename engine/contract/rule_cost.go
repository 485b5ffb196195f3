package contract

import estimate "github.com/google/cel-go/checker"

// sizes tells the cost estimate how long lists and texts may be.
type sizes struct{ schema *schema }

// EstimateSize implements estimate.CostEstimator.
func (s sizes) EstimateSize(node estimate.AstNode) *estimate.SizeEstimate {
	size := uint64(usualLength)
	if most := s.most(node.Path()); most >= 0 {
		size = uint64(most)
	}
	return &estimate.SizeEstimate{Max: size}
}

// most is the bound that the schema gives a list or text, -1 if it gives none.
func (s sizes) most(names []string) int {
	if s.schema == nil || len(names) == 0 {
		return -1
	}
	var path fieldPath
	for i, name := range names {
		if i > 0 || name != outputName {
			path = append(path, token{name: name, every: name == "@items"})
		}
	}
	f, err := s.schema.fieldAt(path)
	if err != nil {
		return -1
	}
	for _, p := range inPlaceOf(f.parts) {
		if p.certain && p.MaxItems != nil {
			return *p.MaxItems
		}
		if p.certain && p.MaxLength != nil {
			return *p.MaxLength
		}
	}
	return -1
}

// EstimateCallCost implements estimate.CostEstimator: CEL's own estimates hold.
func (s sizes) EstimateCallCost(string, string, *estimate.AstNode, []estimate.AstNode) *estimate.CallEstimate {
	return nil
}
