// Hands the samples of the microphone to the page.
registerProcessor("recorder", class extends AudioWorkletProcessor {
  process(inputs) {
    if (inputs[0].length > 0) this.port.postMessage(inputs[0][0].slice());
    return true;
  }
});
