// Package heap keeps slices as heaps: the least element stands first, and adding an element or
// removing the first one takes logarithmic time. It is container/heap for elements of any type. Begin
// with [Push].
package heap

// Push adds an element to a heap that less orders.
func Push[T any](h *[]T, v T, less func(a, b T) bool) {
	*h = append(*h, v)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !less(s[i], s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

// Pop removes and returns the first element of a heap that is not empty.
func Pop[T any](h *[]T, less func(a, b T) bool) T {
	s := *h
	first, last := s[0], len(s)-1
	s[0] = s[last]
	clear(s[last:])
	s = s[:last]
	*h = s
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s); child++ {
			if less(s[child], s[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
