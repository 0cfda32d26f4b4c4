package api

import "github.com/gin-gonic/gin"

// AdminEngine shows the owner's routes to the test that walks them.
func (a *API) AdminEngine() *gin.Engine { return a.admin }
