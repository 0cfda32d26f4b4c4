package index

import (
	"testing"

	"gazetteer/index/query"
)

func TestThaiIsFound(t *testing.T) {
	x, _ := indexed(t, agis("table.test", "BOOK /table: จองโต๊ะในร้านอาหารสำหรับลูกค้า"), agis("weather.test", "RETRIEVE /weather: ดูพยากรณ์อากาศของวันนี้"))
	for asked, want := range map[string]string{"จองโต๊ะ": "table.test", "ร้านอาหาร": "table.test", "พยากรณ์อากาศ": "weather.test", `"จองโต๊ะ"`: "table.test", "BOOK โต๊ะ": "table.test"} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		r := search(t, x, q)
		if len(r.Hits) == 0 || r.Hits[0].Host != want || r.Hits[0].Why.Coverage != 1 || r.Note != "" {
			t.Errorf("%s: %+v, want %s", asked, r, want)
		}
	}
}
