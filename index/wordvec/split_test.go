package wordvec

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownWords(t *testing.T) {
	table, err := Read(strings.NewReader("여행 1 0\n일정 0 1\n회의실 2 0\n의실 3 0\n회의 0 3\n차 7 7\nplan 0 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]string{
		"여행을":                           {"여행"},
		"해외여행일정을":                       {"여행", "일정"},
		"회의실":                           {"회의실"},
		"회의실에서":                         {"회의", "의실"},
		"차":                             {"차"},
		"차량":                            nil, // one syllable within a word says nothing
		"pdf회의":                         {"회의"},
		"일정pdf":                         {"일정"},
		"일x정":                           nil,
		"plans":                         nil,
		"":                              nil,
		"日程":                            nil,
		"\xff\xfe일정":                    {"일정"},
		strings.Repeat("가", 100) + "일정": nil, // too far into the word
	} {
		want2 := make([]float32, table.Dim())
		table.Sum(want2, want, nil)
		got := make([]float32, table.Dim())
		known := table.Sum(got, []string{word}, nil)
		if !slices.Equal(got, want2) || (known == 1) != (len(want) > 0) {
			t.Errorf("%.40q gives %v (%d known), want %v of %q", word, got, known, want2, want)
		}
	}
}

func FuzzSum(f *testing.F) {
	table, err := Read(strings.NewReader("일정 1 0\n회의실 0 1\nplan 1 1\n"))
	if err != nil {
		f.Fatal(err)
	}
	for _, w := range []string{"일정표를", "planned회의실", "\xff", "일", "ㄱ"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		sum := make([]float32, 2)
		if table.Sum(sum, []string{word}, nil) == 0 && (sum[0] != 0 || sum[1] != 0) {
			t.Errorf("%q is unknown, yet gives %v", word, sum)
		}
	})
}
