package translate

import "testing"

func TestCorrectHangul(t *testing.T) {
	for asked, want := range map[string]string{
		"예먁":    "예약",  // another vowel
		"예야":    "예약",  // a missing consonant
		"호털을":   "호텔을", // with its particle
		"예약":    "",    // known
		"hotel": "",    // no Hangul
		"쀍쀍":    "",    // near nothing
	} {
		if got := CorrectHangul(asked); got != want {
			t.Errorf("%s is corrected to %q, want %q", asked, got, want)
		}
	}
}

// TestWordsWithParticlesStay checks that a word of one syllable with its particle is not corrected.
func TestWordsWithParticlesStay(t *testing.T) {
	for _, asked := range []string{"글이", "꽃을", "집에", "무슨"} {
		if got := CorrectHangul(asked); got != "" {
			t.Errorf("%s becomes %s", asked, got)
		}
	}
}

func TestHangulLettersAreCompared(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"abc", "abd", true}, {"abc", "ab", true}, {"abc", "acb", true}, {"abc", "abc", false}, {"abc", "xyc", false}, {"abc", "a", false}} {
		if got := differInOneLetter([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}
