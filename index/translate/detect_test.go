package translate

import "testing"

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"which pizzas are on today's menu":       "",
		"which pizzas are on Tom’s menu":         "",
		"there are no croissants on the menu":    "",
		"quelles pizzas sont au menu":            French,
		"s'il vous plaît, réservez une table":    French,
		"was steht heute auf der Karte":          German,
		"reservar una mesa para dos":             Spanish,
		"오늘의 메뉴":                                 Korean,
		"今日のメニュー":                                Japanese,
		"今天的菜单":                                  Chinese,
		"book a table at Chez Paul for tomorrow": "",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is in language %q, want %q", text, got, want)
		}
	}
}
