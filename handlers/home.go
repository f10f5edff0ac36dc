package handlers

import (
	_ "embed"
	"html/template"
	"net/http"

	"github.com/gin-gonic/gin"
)

//go:embed home.html
var homeSource string

var homePage = template.Must(template.New("home").Parse(homeSource))

// home describes this instance and lists its endpoints.
func (a *api) home(c *gin.Context) {
	c.Header("Content-Type", "text/html; charset=utf-8")
	c.Status(http.StatusOK)
	err := homePage.Execute(c.Writer, gin.H{"Config": a.Config, "Base": "http://" + c.Request.Host})
	if err != nil {
		a.Log.Warn("home page", "error", err)
	}
}
