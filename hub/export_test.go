package hub

// SetMaxUnannounced makes tests small.
func (c *Client) SetMaxUnannounced(n int64) { c.maxUnannounced = n }
