package api

import "github.com/gin-gonic/gin"

// AdminEngine shows the owner's routes to the test that walks them.
func (a *API) AdminEngine() *gin.Engine { return a.admin }

// BadgeSVG shows the drawing of badges to the test that sends it hostile text.
func BadgeSVG(left, right, colour, title string) string { return badgeSVG(left, right, colour, title) }

// Kept is how many answers an API keeps, and how many sets of headers they share.
func Kept(a *API) (answers, headers int) {
	a.responses.answers.CleanUp()
	a.responses.mu.Lock()
	defer a.responses.mu.Unlock()
	return a.responses.answers.EstimatedSize(), len(a.responses.headers)
}
