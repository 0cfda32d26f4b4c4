package badge

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

// read parses a badge and returns its texts and the widths that they were given.
func read(t *testing.T, svg []byte) (texts []string, total int, given []int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, total, given
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch v := token.(type) {
		case xml.StartElement:
			switch v.Name.Local {
			case "svg", "title", "clipPath", "rect", "g", "text":
			default:
				t.Errorf("an element %s", v.Name.Local)
			}
			for _, a := range v.Attr {
				var n int
				fmt.Sscan(a.Value, &n)
				switch {
				case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "href":
					t.Errorf("an attribute %s", a.Name.Local)
				case a.Name.Local == "textLength":
					given = append(given, n)
				case a.Name.Local == "width" && v.Name.Local == "svg":
					total = n
				}
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(v)); text != "" {
				texts = append(texts, string(v))
			}
		}
	}
}

func TestBadgeTextIsEscaped(t *testing.T) {
	hostile := `"><script>alert(1)</script>&'` + "\u202e\x00\xff\u2066"
	for _, style := range []Style{Flat, forTheBadge, "other"} {
		texts, _, _ := read(t, Draw(Badge{Left: hostile, Right: hostile, Color: Red, Style: style, Detail: hostile}))
		all := strings.Join(texts, "|")
		if !strings.Contains(strings.ToLower(all), `"><script>alert(1)</script>&'`) || strings.ContainsAny(all, "\u202e\x00\u2066") {
			t.Errorf("%s says %q", style, all)
		}
	}
	read(t, Draw(Badge{}))
	long := Draw(Badge{Left: strings.Repeat("é", 5000), Right: "x" + strings.Repeat("\u0301", 100_000), Color: Grey})
	if len(long) > 4000 {
		t.Errorf("a long text makes a badge of %d bytes", len(long))
	}
}

// A badge is as wide as its texts in any script, give or take a quarter: at 11 pixels, a letter of
// Latin, Greek or Cyrillic is about half as wide as the font is high, one of East Asia as wide, an
// emoji a quarter wider, a mark takes no room, and what a reader sees as one character counts once.
func TestWidths(t *testing.T) {
	f := formOf(Flat)
	for text, want := range map[string]float64{
		"conformant":      53,
		"iiiiiiiiii":      25,
		"MMMMMMMMMM":      92,
		"Привет":          38,
		"Ελλάδα":          37,
		"予約する":            44,
		"예약하기":            44,
		"مرحبا بالعالم":   68,
		"שלום":            24,
		"नमस्ते":          30,
		"👩‍👩‍👧‍👦":         14, // four persons who are one character
		"🇩🇪🇫🇷":            28,
		"👍🏽":              14,
		"❤️":              14,
		"e\u0301e\u0301":  12,
		"Z̧̧̧̧̧̧̧a̧ļg̦o": 26,
		"":                0,
	} {
		got := float64(f.textWidth(text, false))
		if math.Abs(got-want) > want/4+1 {
			t.Errorf("%q is %.0f pixels wide, want about %.0f", text, got, want)
		}
	}
	if narrow, wide := f.textWidth("iiii", false), f.textWidth("WWWW", false); wide < 3*narrow {
		t.Errorf("four i are %d pixels wide, four W %d", narrow, wide)
	}
}

// TestRoom checks that a badge has enough room for both of its halves.
func TestRoom(t *testing.T) {
	for _, style := range []Style{Flat, forTheBadge} {
		_, total, given := read(t, Draw(Badge{Left: "agents", Right: "予約する 👍🏽", Color: Green, Style: style}))
		f := formOf(style)
		if len(given) != 2 || total != given[0]+given[1]+4*f.padding {
			t.Errorf("%s: %d pixels for texts of %v", style, total, given)
		}
	}
	if svg := string(Draw(Badge{Left: "x", Right: "مرحبا", Color: Green})); strings.Count(svg, `direction="rtl"`) != 1 {
		t.Errorf("one text is from right to left: %s", svg)
	}
}

func BenchmarkDraw(b *testing.B) {
	for b.Loop() {
		Draw(Badge{Left: "agent service", Right: "conformant level 2 · 3 h ago", Color: Green, Detail: "checked"})
	}
}
