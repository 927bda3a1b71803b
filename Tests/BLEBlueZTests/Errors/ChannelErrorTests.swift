import BLE
import Testing

@testable import BLEBlueZ

/// The errors for the kernel's error numbers on the sockets of channels. The same table is in Docs/Errors.md.
@Suite struct ChannelErrorTests {
    @Test(arguments: [
        (ChannelSocketError.Step.making, SystemError.unknownFamily, BLEError.Code.notSupported, false),
        (.making, SystemError.unknownProtocol, .notSupported, false),
        (.making, SystemError.notPermitted, .unauthorized, false),
        (.making, SystemError.noAccess, .unauthorized, false),
        (.binding, SystemError.inUse, .busy, true),
        (.binding, SystemError.noAccess, .unauthorized, false),
        (.binding, SystemError.notPermitted, .unauthorized, false),
        (.connecting, SystemError.refused, .channelRefused, false),
        (.connecting, SystemError.noAccess, .pairingRequired, false),
        (.connecting, SystemError.notPermitted, .pairingRequired, false),
        (.connecting, SystemError.keyRejected, .pairingRequired, false),
        (.connecting, SystemError.busy, .busy, true),
        (.connecting, SystemError.timedOut, .disconnected, true),
        (.connecting, SystemError.reset, .disconnected, true),
        (.connecting, SystemError.aborted, .disconnected, true),
        (.connecting, SystemError.hostDown, .disconnected, true),
        (.connecting, SystemError.unreachable, .disconnected, true),
        (.connecting, SystemError.notConnected, .disconnected, true),
        (.making, SystemError.busy, .failed, false),
    ])
    func `an error number becomes a code`(
        _ step: ChannelSocketError.Step, _ number: Int32, _ code: BLEError.Code, _ isRetryable: Bool
    ) {
        let error = BLEError(ChannelSocketError(step, number), 0x0080)
        #expect(error.code == code)
        #expect(error.isRetryable == isRetryable)
        #expect((error.cause as? SystemError)?.number == number)
    }
}
