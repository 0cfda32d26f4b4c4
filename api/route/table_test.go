package route

import "testing"

// TestPathsAreMatchedWithoutAllocation asks for each request whether its path belongs to the API.
func TestPathsAreMatchedWithoutAllocation(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/services": true, "/api/v1/services/www.example.com": true, "/api/v1/nosuch": true, "/openapi.json": true,
		"/services/www.example.com": false, "/": false, "/census": false,
	} {
		if got := ownsPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
		if n := testing.AllocsPerRun(10, func() { ownsPath(path) }); n > 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}
