package altar

import (
	"fmt"
	"strconv"
	"strings"
)

// A Version is a version of the protocol. Patch levels do not change messages.
type Version struct{ Major, Minor int }

// Current is the version of the draft that this package implements.
const Current = "1.0.0"

// ParseVersion reads "1.0.0" or "1.0".
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return Version{}, fmt.Errorf("the version %.40q is not written as 1.0.0", text)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("the version %.40q is not written as 1.0.0", text)
		}
		numbers[i] = int(n)
	}
	return Version{numbers[0], numbers[1]}, nil
}

// String writes the version with a patch level of 0.
func (v Version) String() string { return fmt.Sprintf("%d.%d.0", v.Major, v.Minor) }

// Negotiate returns the version for a connection between a Host and a runtime of two versions: the
// lower minor version. The major versions must be equal.
func Negotiate(own, theirs Version) (Version, error) {
	if own.Major != theirs.Major {
		return Version{}, fmt.Errorf("the Host uses version %d, the runtime version %d", own.Major, theirs.Major)
	}
	return Version{own.Major, min(own.Minor, theirs.Minor)}, nil
}
