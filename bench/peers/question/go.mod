module github.com/capacity-card/capacity-card/bench/peers/question

go 1.24
