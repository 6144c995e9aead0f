// The search runs in a worker, which browsers refuse to pages opened from the disk. There an
// invisible frame does the work instead. (The site generator would load such a file from elsewhere.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      const receive = data => {
        const message = new MessageEvent("message", { data: structuredClone(data) })
        setTimeout(() => {
          this.dispatchEvent(message)
          if (this.onmessage) this.onmessage(message)
        })
      }
      this.ready = new Promise(resolve => {
        inside.document.open()
        inside.postMessage = receive
        inside.started = resolve
        inside.document.write(`<body><script src="${url}" onload="started()"><\/script>`)
        inside.document.close()
      })
    }

    postMessage(data) {
      const inside = this.frame.contentWindow
      const copy = structuredClone(data)
      this.ready.then(() => {
        inside.dispatchEvent(new MessageEvent("message", { data: copy }))
      })
    }

    terminate() {
      this.frame.remove()
    }
  }
}
