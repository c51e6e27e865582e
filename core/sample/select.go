package sample

// less orders candidates by score. Of equal ones the lower id is the better, as for the greedy choice.
func (x *candidate) less(y *candidate) bool {
	return x.score < y.score || (x.score == y.score && x.id > y.id)
}

// boundary returns the first candidate, in ascending order, up to and including which the weights add up to more than
// cut; the last one if none does. It reorders x and takes linear time on average (quickselect, Hoare 1961): only the
// part with the boundary is looked at again.
func boundary(x []candidate, cut float32) candidate {
	below := 0.0 // weight of what is known to stand before x
	for len(x) > 1 {
		p, before := partition(x)
		switch upTo := below + before + x[p].weight; {
		case p > 0 && float32(below+before) > cut:
			x = x[:p]
		case float32(upTo) > cut || p == len(x)-1:
			return x[p]
		default:
			below, x = upTo, x[p+1:]
		}
	}
	return x[0]
}

// partition reorders x around one of its elements, which comes to index p: smaller ones before, larger ones after it.
// It returns the weight of the smaller ones, too.
func partition(x []candidate) (p int, before float64) {
	last := len(x) - 1
	median3(x)
	pivot := x[last]
	for i := range x[:last] {
		if x[i].less(&pivot) {
			before += x[i].weight
			x[i], x[p] = x[p], x[i]
			p++
		}
	}
	x[p], x[last] = x[last], x[p]
	return p, before
}

// median3 brings the median of the first, middle and last element to the end.
func median3(x []candidate) {
	a, b, c := 0, len(x)/2, len(x)-1
	if x[b].less(&x[a]) {
		a, b = b, a
	}
	switch { // x[a] < x[b]
	case x[c].less(&x[a]):
		b = a
	case x[c].less(&x[b]):
		b = c
	}
	x[b], x[c] = x[c], x[b]
}
