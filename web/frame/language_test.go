package frame

import "testing"

func TestLanguageOf(t *testing.T) {
	for want, languages := range map[string][]string{
		"it":    {"it"},
		"pt-BR": {"pt-br"},
	} {
		if got := LanguageOf(languages); got != want {
			t.Errorf("%v: %q, want %q", languages, got, want)
		}
	}
	for _, languages := range [][]string{nil, {"it", "en"}, {"not a language"}, {`"><script>`}, {"und"}} {
		if got := LanguageOf(languages); got != "" {
			t.Errorf("%v: %q, want none", languages, got)
		}
	}
}

func TestDescribeLanguage(t *testing.T) {
	for tag, want := range map[string]string{
		"de": "German (de)", "pt-br": "Brazilian Portuguese (pt-BR)", "zh-hans": "Simplified Chinese (zh-Hans)", "ckb": "Central Kurdish (ckb)",
		"iw": "Hebrew (iw)", "en-x-pirate": "English (en-x-pirate)", "de-1996": "German (de-1996)",
		// Without a name.
		"": "", "und": "und", "x-own": "x-own", "qaa": "qaa", "zz": "zz", "english": "english", "<b>": "<b>",
	} {
		if got := DescribeLanguage(tag); got != want {
			t.Errorf("%q is described as %q, want %q", tag, got, want)
		}
	}
}
