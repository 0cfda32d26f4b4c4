package agishttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"gazetteer/protocol/agis/agishttp"
)

func Example() {
	reservations := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := agishttp.FromContext(r.Context())
		if !ok {
			fmt.Fprintln(w, "a plain", r.Method)
			return
		}
		fmt.Fprintln(w, "will", b.Method, r.URL.Path)
	})
	server := httptest.NewServer(agishttp.New(reservations, agishttp.Options{}))
	defer server.Close()

	for _, verb := range []string{"BOOK", "GET"} {
		request, err := http.NewRequest(http.MethodPost, server.URL+"/reservation", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		request.Header.Set(agishttp.MethodHeader, verb)
		request.Header.Set(agishttp.GrammarHeader, agishttp.Grammar)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(response.StatusCode, response.Header.Get("Content-Type"))
		if response.StatusCode == http.StatusOK {
			fmt.Print(string(body))
		}
	}
	// Output:
	// 200 text/plain; charset=utf-8
	// will BOOK /reservation
	// 400 application/problem+json
}
