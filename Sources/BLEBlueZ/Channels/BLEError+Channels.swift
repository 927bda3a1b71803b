internal import BLE

/// The failure of a system call on the socket of a channel.
struct ChannelSocketError: Error {
    enum Step {
        /// Making a socket, or giving it its options.
        case making
        case binding
        case connecting
    }

    var step: Step
    /// The error number.
    var number: Int32

    init(_ step: Step, _ number: Int32) {
        self.step = step
        self.number = number
    }
}

extension BLEError {
    /// The error for a system call on the socket of a channel.
    init(_ error: ChannelSocketError, _ psm: PSM?) {
        let number = psm.map { " \($0)" } ?? ""
        let cause = SystemError(number: error.number)
        switch (error.step, error.number) {
        case (.making, SystemError.unknownFamily), (.making, SystemError.unknownProtocol):
            self.init(
                .notSupported, "this system does not provide Bluetooth sockets", isRetryable: false,
                remedy: "The kernel needs CONFIG_BT; a container needs the host's network namespace.", cause: cause)
        case (.making, SystemError.notPermitted), (.making, SystemError.noAccess):
            self.init(
                .unauthorized, "this user may not use Bluetooth sockets", isRetryable: false,
                remedy: "A container's seccomp profile has to permit AF_BLUETOOTH.", cause: cause)
        case (.making, SystemError.tooManyInProcess), (.making, SystemError.tooManyInSystem):
            self.init(
                .failed, "the channel\(number) could not be opened: \(cause)", isRetryable: true,
                remedy: "Close some files, or raise the limit (ulimit -n).", cause: cause)
        case (.binding, SystemError.inUse):
            self.init(
                .busy, "another program uses the channel number\(number)", isRetryable: true,
                remedy: "Use another number, or none to get a free one.", cause: cause)
        case (.binding, SystemError.noAccess), (.binding, SystemError.notPermitted):
            self.init(
                .unauthorized, "this user may not use the channel number\(number)", isRetryable: false,
                remedy: "Use 0x0080 to 0x00FF, or give the program the capability CAP_NET_BIND_SERVICE.", cause: cause)
        case (.connecting, SystemError.refused):
            self.init(
                .channelRefused, "the peripheral refused the channel\(number)", isRetryable: false,
                remedy: "Check the number, and the security that the peripheral requires.", cause: cause)
        case (.connecting, SystemError.noAccess), (.connecting, SystemError.notPermitted),
            (.connecting, SystemError.keyRejected):
            self.init(
                .pairingRequired, "the channel\(number) requires a paired link", isRetryable: false,
                remedy: "Pair with the peripheral.", cause: cause)
        case (.connecting, SystemError.busy):
            self.init(.busy, "the system is opening another channel", isRetryable: true, cause: cause)
        case (.connecting, SystemError.timedOut), (.connecting, SystemError.reset),
            (.connecting, SystemError.aborted), (.connecting, SystemError.hostDown),
            (.connecting, SystemError.unreachable), (.connecting, SystemError.notConnected):
            self.init(.disconnected, "the channel or its link ended as soon as it was made", cause: cause)
        case (.making, SystemError.notConnected):
            self.init(.disconnected, "the channel ended as soon as it was made", cause: cause)
        case (.binding, SystemError.invalid) where psm == nil:
            self.init(.busy, "no channel number is free", isRetryable: true, cause: cause)
        default:
            self.init(.failed, "the channel\(number) could not be opened: \(cause)", cause: cause)
        }
    }
}
