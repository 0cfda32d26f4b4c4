package cache

import (
	"fmt"
	"testing"
)

// TestSized keeps values up to the limit, forgets what it is told to, and never confuses keys.
func TestSized(t *testing.T) {
	c := New[string, *int](1000)
	for i := range 100 {
		c.Put(fmt.Sprint(i), &i, 100)
	}
	if c.Len() == 0 || c.Len() > 10 || c.Used() != 100*c.Len() {
		t.Errorf("%d values of 100 in %d, want up to 10 in 1000", c.Len(), c.Used())
	}
	found := 0
	for i := range 100 {
		if v, ok := c.Lookup(fmt.Sprint(i)); ok {
			found++
			if *v != i {
				t.Errorf("%d is %d", i, *v)
			}
			c.Delete(fmt.Sprint(i))
			if _, ok := c.Lookup(fmt.Sprint(i)); ok {
				t.Errorf("%d is there after it was deleted", i)
			}
		}
	}
	if found == 0 || c.Len() != 0 || c.Used() != 0 {
		t.Errorf("found %d; %d values are left in %d", found, c.Len(), c.Used())
	}
	if c.Put("large", new(int), 1001); c.Len() != 0 {
		t.Error("a value above the limit is kept")
	}
	c.Widen(2000)
	if c.Put("large", new(int), 1001); c.Len() != 1 {
		t.Error("a wider cache does not keep a larger value")
	}
	c.Widen(10)
	if c.Len() != 1 {
		t.Error("Widen lowered the limit")
	}
}

// TestInterfaceValues keeps values whose type is an interface, and nil ones.
func TestInterfaceValues(t *testing.T) {
	c := New[int, error](10)
	c.Put(1, fmt.Errorf("kept"), 1)
	if v, ok := c.Lookup(1); !ok || v.Error() != "kept" {
		t.Errorf("%v, %v", v, ok)
	}
	if v, ok := c.Lookup(2); ok || v != nil {
		t.Errorf("%v, %v of an unknown key", v, ok)
	}
}
