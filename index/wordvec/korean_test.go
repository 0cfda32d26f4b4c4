package wordvec

import (
	"strings"
	"testing"
)

// What people ask for in Korean, and what a service says in English of the
// operation that does it.
var koreanWishes = [][2]string{
	{"오늘 저녁에 두 명이 갈 식당을 예약하고 싶어요", "reserve a table at a restaurant"},
	{"예약을 취소해 주세요", "cancel a booking"},
	{"내일 서울 날씨가 어때?", "returns the weather forecast of a city"},
	{"부산 가는 비행기표 좀 찾아줘", "search for airline flights"},
	{"친구한테 5만원 송금해줘", "transfer money to another bank account"},
	{"이 문장을 영어로 번역해줘", "translate text from one language into another"},
	{"다음 주 월요일 오후 회의 일정 잡아줘", "schedule a meeting in the calendar"},
	{"택배가 지금 어디쯤 왔는지 배송조회", "track the delivery of a parcel"},
	{"이번 달 신용카드 결제 내역 보여줘", "list the payments made with a credit card"},
	{"조용한 노래 틀어줘", "plays a song"},
	{"달러 환율이 얼마야", "get the exchange rate of a currency"},
	{"강남역 근처 주차장 있어?", "find parking near a location"},
	{"새 사용자 계정을 만들어줘", "create a user account"},
	{"비밀번호를 재설정하고 싶어", "reset a password"},
	{"삼성전자 주가 알려줘", "get the current price of a stock"},
	{"내과 진료 예약할 병원 추천해줘", "book an appointment with a doctor"},
	{"이메일 보내줘", "send an email message"},
	{"쓰지 않는 파일을 삭제해줘", "delete a file"},
	{"오늘의 주요 뉴스 기사 요약", "summarize news articles"},
	{"렌터카 빌리려고 하는데", "rent a car"},
	{"제주도 호텔 방 찾아줘", "search for hotel rooms"},
	{"영화 예매하고 싶어", "buy movie tickets"},
	{"송장에 대한 환불 요청", "request a refund of an invoice"},
	{"거실 온도 좀 낮춰줘", "lower the temperature of a room"},
}

func TestKoreanFindsEnglish(t *testing.T) {
	table := Embedded()
	vector := func(text string) []float32 {
		v := make([]float32, table.Dim())
		table.Sum(v, strings.Fields(strings.Trim(text, "?")), nil)
		Normalize(v)
		return v
	}
	right := 0
	for i, wish := range koreanWishes {
		query, best, at := vector(wish[0]), float32(-2), 0
		for j, other := range koreanWishes {
			if near := Dot(query, vector(other[1])); near > best {
				best, at = near, j
			}
		}
		if at == i {
			right++
		} else {
			t.Logf("%q is nearest to %q", wish[0], koreanWishes[at][1])
		}
	}
	if want := len(koreanWishes) * 9 / 10; right < want {
		t.Errorf("%d of %d wishes find their operation, want %d", right, len(koreanWishes), want)
	}
}

func TestKoreanSynonyms(t *testing.T) {
	table := Embedded()
	for _, c := range [][3]string{
		{"식당", "레스토랑", "병원"},
		{"송금", "이체", "날씨"},
		{"구매", "구입", "삭제"},
		{"일정", "스케줄", "노래"},
	} {
		near, far := cosine(table, c[:1], c[1:2]), cosine(table, c[:1], c[2:])
		if near < far+.3 {
			t.Errorf("%s is %.2f near %s and %.2f near %s", c[0], near, c[1], far, c[2])
		}
	}
}
