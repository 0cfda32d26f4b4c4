//go:build go1.22

package planted

import "slices"

// Values needs a newer Go than this file says it has.
var Values = slices.Collect(slices.Values([]int{1})) // want stdversion
