package core

// turns limits how many threads compute at a time: as many as it has room for. nil is no limit.
type turns chan struct{}

// take waits until n threads may compute. Only one goroutine may take more than one turn at a time.
func (t turns) take(n int) {
	for range n {
		if t != nil {
			t <- struct{}{}
		}
	}
}

func (t turns) give(n int) {
	for range n {
		if t != nil {
			<-t
		}
	}
}
