package plot

import "testing"

func TestFiguresHaveNoExponent(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.53: "0.53", 12: "12", 12.34: "12", 99.6: "100", 731.4: "731", 999.6: "1,000", 3400.2: "3,400", 999_999.7: "1M", 1_234_567: "1.23M", 999_499_999: "999M", 999_600_000: "1B", 12.34e9: "12.3B", 0.00001: "0.00001"} {
		if got := formatValue(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
