package frame

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
)

// PerPage is the number of operations on a page of results or a service page.
const PerPage = 20

// PageLinks holds the addresses of the previous and the next page, "" for none.
type PageLinks struct {
	Previous string
	Next     string
	First    string // instead of Previous, of a list that is read in one direction; "" on its first page
	Number   int    // of this page, 0 if it is not known
	Count    int    // of all pages, 0 if it is not known
}

// maxPages is the last page number, so that the offset stays in the range that the index accepts.
const maxPages = 10000 / PerPage

// PageNumber reads the page parameter, 1 when it is missing.
func PageNumber(c *gin.Context) (int, error) {
	text := c.Query("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPages {
		return 0, BadRequest(fmt.Sprintf("There is no page %q", ClipPlain(30, text)),
			fmt.Sprintf("Pages are numbered from 1 to %d. Narrow the query with verb:, ns:, class: or host: to reach further results.", maxPages))
	}
	return n, nil
}

// LinkPages returns the links beside page number of a list of total entries, size of
// them on a page.
func LinkPages(path string, q url.Values, number, total, size int) PageLinks {
	count := min((total+size-1)/size, maxPages)
	g := PageLinks{Number: number, Count: count}
	address := func(n int) string {
		if n == 1 {
			q.Del("page")
		} else {
			q.Set("page", strconv.Itoa(n))
		}
		if len(q) == 0 {
			return path
		}
		return path + "?" + q.Encode()
	}
	if number > 1 {
		g.Previous = address(max(1, min(number-1, count)))
	}
	if number < count {
		g.Next = address(number + 1)
	}
	return g
}

// SplitAt returns the first n elements of a list and the number of the others.
func SplitAt[T any](list []T, n int) (first []T, more int) {
	first = list[:min(len(list), n)]
	return first, len(list) - len(first)
}
