internal import BLE
internal import Loop

extension BLEError {
    /// The error of a proxy that cannot listen.
    init(_ error: LoopError, listeningAt host: String, port: UInt16) {
        let (code, remedy): (Code, String?) =
            switch error {
            case .inUse: (.busy, "End the program that listens there, or choose another port: 0 is any that is free.")
            case .exhausted: (.failed, "Raise the limit of open files, as with ulimit -n, or close what is not needed.")
            case .refused: (.failed, "Choose an address of this machine, and a port from 1024 on.")
            case .cancelled: (.cancelled, nil)
            case .ended: (.failed, nil)
            }
        self.init(code, "the proxy cannot listen at \(host), port \(port): \(error)", remedy: remedy)
    }
}
