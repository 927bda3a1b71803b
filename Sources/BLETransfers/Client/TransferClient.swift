public import BLE

/// Sends files to a peripheral, and receives files from it.
///
/// ```swift
/// let client = TransferClient(peripheral)
/// for try await progress in client.send(bytes, as: "settings.json", reconnects: 3) {
///     print(progress.transferredBytes, "of", progress.totalBytes)
/// }
/// ```
///
/// Transfers connect if necessary. One that was interrupted or cancelled goes on when it is called again, also by a
/// later process, with what the receiver has. One transfer of a client runs at a time, and others wait.
///
/// Transfers throw `transferRefused` if the peripheral refuses or ends them (``BLE/BLEError/transferRefusal``),
/// `timedOut` if it does not answer in time, `transferFailed` if it does not follow the protocol, and the errors of
/// connecting, subscribing, writing and opening channels.
public final class TransferClient: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    let session: TransferSession

    /// The configuration of a client.
    public struct Configuration: Hashable, Sendable {
        /// The maximum wait for the answer to the beginning of a transfer, during which a receiver may erase its
        /// memory, or look at what it has.
        public var openingTimeout: Duration
        /// The maximum wait for progress, after which the peripheral is asked, up to three times.
        public var progressTimeout: Duration
        /// The maximum number of bytes that the peripheral may send before they are stored.
        public var window: Int

        /// Creates a configuration.
        public init(
            openingTimeout: Duration = .seconds(60), progressTimeout: Duration = .seconds(10), window: Int = 32_768
        ) {
            self.openingTimeout = openingTimeout
            self.progressTimeout = progressTimeout
            self.window = window
        }
    }

    /// Creates a client. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - carrier: what carries the transfers.
    ///   - service: the service with the characteristics, or with the number of the channel.
    public init(
        _ peripheral: Peripheral, over carrier: TransferCarrier = .characteristics,
        service: BluetoothUUID = .transfer, configuration: Configuration = Configuration()
    ) {
        self.peripheral = peripheral
        session = TransferSession(peripheral, carrier, service, configuration)
    }

    /// Sends a file. The transfer begins with the iteration.
    ///
    /// - Parameters:
    ///   - name: the name, 1 to 200 bytes. The peripheral decides which names it accepts.
    ///   - identifier: identifies the contents, so that the transfer goes on only with the same ones. Nil for their
    ///     hash.
    ///   - reconnects: how many failures in a row, without progress in between, the transfer survives: lost links, and
    ///     a peripheral that is busy.
    public func send(
        _ bytes: [UInt8], as name: String, identifier: UInt64? = nil, reconnects: Int = 0
    ) -> FileTransfer {
        FileTransfer { [session] (report) throws(BLEError) in
            let file = TransferFile(name: name, bytes: bytes, identifier: identifier)
            try await session.inTurn { session throws(BLEError) in
                try await session.send(file, from: ByteSource(bytes: bytes), reconnects, report)
            }
        }
    }

    /// Sends a file whose contents are read while they are sent. The transfer begins with the iteration.
    public func send(_ file: TransferFile, from source: any TransferSource, reconnects: Int = 0) -> FileTransfer {
        FileTransfer { [session] (report) throws(BLEError) in
            try await session.inTurn { session throws(BLEError) in
                try await session.send(file, from: source, reconnects, report)
            }
        }
    }

    /// Receives a file into a storage. The transfer begins with the iteration.
    ///
    /// - Parameters:
    ///   - maximumLength: the maximum length, in bytes. A longer file throws `invalidLength`.
    ///   - reconnects: how many failures in a row, without progress in between, the transfer survives.
    public func receive(
        _ name: String, into storage: any TransferStorage, maximumLength: Int = TransferFile.maximumLength,
        reconnects: Int = 0
    ) -> FileTransfer {
        FileTransfer { [session] (report) throws(BLEError) in
            try await session.inTurn { session throws(BLEError) in
                try await session.receive(name, into: storage, maximumLength, reconnects, report)
            }
        }
    }

    /// Receives a file, and returns its contents. If it throws, what has arrived is lost.
    ///
    /// - Parameters:
    ///   - maximumLength: the maximum length, in bytes. A longer file throws `invalidLength`.
    ///   - reconnects: how many failures in a row, without progress in between, the transfer survives.
    public func receive(
        _ name: String, maximumLength: Int = 1 << 24, reconnects: Int = 0
    ) async throws(BLEError) -> [UInt8] {
        let storage = MemoryTransferStorage(capacity: maximumLength, maximumFiles: 1)
        try await receive(name, into: storage, maximumLength: maximumLength, reconnects: reconnects).finish()
        return await storage.files[name] ?? []
    }
}
