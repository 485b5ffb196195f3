module emend/tools/site

go 1.26.4

require github.com/yuin/goldmark v1.8.7
