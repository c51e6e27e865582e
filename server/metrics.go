package server

import (
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what Prometheus reads, in a registry of their own.
type metrics struct {
	handler http.Handler

	inFlight   prometheus.Gauge
	requests   *prometheus.CounterVec // all, by place, method and status
	syntheses  *prometheus.CounterVec // by format and outcome
	rejected   *prometheus.CounterVec // by reason
	frames     prometheus.Counter
	audio      prometheus.Counter
	tokens     prometheus.Counter
	characters prometheus.Counter
	queued     prometheus.Histogram
	firstAudio prometheus.Histogram
	duration   prometheus.Histogram
	rtf        prometheus.Histogram
}

func newMetrics(s *Server) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	m := &metrics{
		inFlight:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "qwen_http_requests_in_flight", Help: "HTTP requests that are being answered, this one included."}),
		requests:   vec("qwen_http_requests_total", "Answered HTTP requests.", "path", "method", "status"),
		syntheses:  vec("qwen_speech_requests_total", "Speech requests that reached the engine.", "format", "outcome"),
		rejected:   vec("qwen_queue_rejected_total", "Requests that were turned away from the queue.", "reason"),
		frames:     counter("qwen_frames_total", "Generated audio frames, of 80 ms."),
		audio:      counter("qwen_audio_seconds_total", "Generated audio."),
		tokens:     counter("qwen_text_tokens_total", "Tokens of the texts that were spoken."),
		characters: counter("qwen_text_characters_total", "Characters of the texts that were spoken."),
		queued:     histogram("qwen_queue_wait_seconds", "Time that speech requests waited for their turn.", .001, .01, .1, .5, 1, 2, 5, 10, 30, 60, 120),
		firstAudio: histogram("qwen_first_audio_seconds", "Time from the request to its first audio.", .05, .1, .15, .2, .3, .5, .75, 1, 2, 5, 10, 30, 60),
		duration:   histogram("qwen_synthesis_seconds", "Time at the engine.", .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
		rtf:        histogram("qwen_rtf", "Real-time factor: time at the engine by time of audio.", .05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 10),
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m.inFlight, m.requests, m.syntheses, m.rejected, m.frames, m.audio, m.tokens, m.characters, m.queued, m.firstAudio, m.duration, m.rtf,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(gauges(s)...)
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// gauges look at the server when they are read.
func gauges(s *Server) []prometheus.Collector {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	return []prometheus.Collector{
		gauge("qwen_queue_depth", "Requests that wait for their turn.", func() float64 { _, n := s.line.load(); return float64(n) }),
		gauge("qwen_running", "Requests at the engine.", func() float64 { n, _ := s.line.load(); return float64(n) }),
		gauge("qwen_large_bodies", "Large request bodies that are in memory.", func() float64 { return float64(len(s.large)) }),
		gauge("qwen_ready", "1 when the model is loaded.", func() float64 {
			if s.model.Load() == nil {
				return 0
			}
			return 1
		}),
		gauge("qwen_voices", "Registered voices.", func() float64 {
			if m := s.model.Load(); m != nil {
				return float64(len(m.voices.list()))
			}
			return 0
		}),
	}
}

func (m *metrics) serve(w http.ResponseWriter, r *http.Request) error {
	m.handler.ServeHTTP(w, r)
	return nil
}

// answered counts a request. The path is a pattern, and the method one of the API's, so that no client can add series.
func (m *metrics) answered(pattern, method string, status int) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	if pattern == "" {
		pattern = "other"
	}
	m.requests.WithLabelValues(pattern, method, strconv.Itoa(status)).Inc()
}

// turnedAway counts who got no turn.
func (m *metrics) turnedAway(err error) {
	reason := "client_closed_request"
	var e *apiError
	if errors.As(err, &e) {
		reason = e.code
	}
	m.rejected.WithLabelValues(reason).Inc()
}

// spoken counts what came of a request; the engine may still be at it if the client is gone.
func (m *metrics) spoken(y *synthesis, err error) {
	outcome := "ok"
	var failure *apiError
	switch {
	case errors.As(err, &failure):
		outcome = failure.code
	case err != nil:
		outcome = "client_closed_request"
	}
	m.syntheses.WithLabelValues(formatName(y.format), outcome).Inc()
	m.queued.Observe(y.queued.Seconds())
}

// computed counts what the engine did for a request, whether or not anybody waited for the end of it.
func (m *metrics) computed(y *synthesis, err error) {
	r := &y.total
	m.frames.Add(float64(r.Frames))
	m.audio.Add(seconds(r.Samples))
	m.tokens.Add(float64(r.TextTokens))
	m.characters.Add(float64(utf8.RuneCountInString(y.request.Text)))
	if r.Samples == 0 {
		return
	}
	m.firstAudio.Observe((y.started.Sub(y.arrived) + r.Timings.FirstAudio).Seconds())
	if err == nil {
		m.duration.Observe(r.Timings.Total.Seconds())
		m.rtf.Observe(r.Timings.Total.Seconds() / seconds(r.Samples))
	}
}
