public import BLE

/// Updates the firmware of a device, and manages its files and its shell, over the Simple Management Protocol (SMP) of
/// MCUmgr.
///
/// ```swift
/// let client = FirmwareClient(peripheral)
/// for try await progress in client.upload(try FirmwareImage(decoding: bytes)) {
///     print(progress.sentBytes, "of", progress.totalBytes)
/// }
/// ```
///
/// Operations connect and subscribe if necessary. They throw `managementFailed` if the device answers with an error
/// (``BLE/BLEError/managementFailure``), `timedOut` if it does not answer in time, `invalidManagementResponse` if it
/// answers with something else, and the errors of connecting, subscribing and writing. After the loss of a link, the
/// next operation connects again.
///
/// Use one client for each device: responses go to every subscriber, and two clients would use the same sequence
/// numbers.
public final class FirmwareClient: Sendable {
    /// The device.
    public let peripheral: Peripheral
    let session: SMPSession

    /// The configuration of a client.
    public struct Configuration: Hashable, Sendable {
        /// The maximum time for a request, with connecting and writing. 10 s by default.
        public var requestTimeout: Duration
        /// The maximum time for erasing, and for the first request of an upload, during which a device may erase. 60 s
        /// by default.
        public var eraseTimeout: Duration
        /// The maximum length of a frame to the device, in bytes. Nil for the device's buffer size. For a device that
        /// does not reassemble frames, the maximum write length of the link.
        public var maximumFrameLength: Int?
        /// The maximum number of chunks of an upload in flight, at least 1, and 8 by default. The device's buffers
        /// limit it, too.
        public var maximumWindow: Int
        /// The maximum length of a response, in bytes with its header. 16384 by default. A longer one throws
        /// `invalidManagementResponse`.
        public var maximumResponseLength: Int

        /// Creates a configuration.
        public init(
            requestTimeout: Duration = .seconds(10), eraseTimeout: Duration = .seconds(60),
            maximumFrameLength: Int? = nil, maximumWindow: Int = 8, maximumResponseLength: Int = 16384
        ) {
            self.requestTimeout = requestTimeout
            self.eraseTimeout = eraseTimeout
            self.maximumFrameLength = maximumFrameLength
            self.maximumWindow = maximumWindow
            self.maximumResponseLength = maximumResponseLength
        }
    }

    /// Creates a client. Nothing is sent yet.
    public init(_ peripheral: Peripheral, configuration: Configuration = Configuration()) {
        self.peripheral = peripheral
        session = SMPSession(peripheral, configuration)
    }

    deinit {
        let session = session
        Task { await session.close() }
    }

    /// Ends the subscription. Operations that wait, and later ones, throw `connectionCancelled`. The link stays.
    ///
    /// Returns when the frame that is being written is whole and the device was asked to stop sending, each at most
    /// the central's operation timeout later. A cancelled task does not wait.
    public func close() async { await session.close() }

    /// Sends any request, such as one of a product's own group, and returns the fields of its response.
    ///
    /// - Parameters:
    ///   - operation: `.read` or `.write`. Others throw `invalidArgument`.
    ///   - fields: the fields of the request, at most 65535 bytes of CBOR.
    ///   - timeout: the maximum time. Nil for the configuration's.
    public func request(
        _ operation: SMPOperation, _ command: SMPCommand, _ fields: CBORMap = [:], timeout: Duration? = nil
    ) async throws(BLEError) -> CBORMap {
        guard operation.response != nil else {
            throw BLEError(.invalidArgument, "a response is not a request", isRetryable: false)
        }
        return try await session.request(operation, command, fields, timeout: timeout)
    }
}

extension BluetoothUUID {
    /// The service of the Simple Management Protocol.
    public static let smp = BluetoothUUID(high: 0x8D53_DC1D_1DB7_4CD3, low: 0x868B_8A52_7460_AA84)
}

extension Characteristic where Value == [UInt8] {
    /// The characteristic that requests are written to without response, and that notifies responses.
    public static var smp: Self {
        Characteristic(BluetoothUUID(high: 0xDA2E_7828_FBCE_4E01, low: 0xAE9E_2611_7499_7C48), service: .smp)
    }
}
