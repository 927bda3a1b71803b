public import BLE

/// Nordic's Secure DFU, as the bootloader of the nRF5 SDK has it: transfers firmware to a device.
///
/// ```swift
/// let dfu = SecureDFU(peripheral)
/// for try await progress in dfu.upload(initPacket: initPacket, firmware: bytes) {
///     print(progress.fraction)
/// }
/// ```
///
/// The init packet and the firmware are the `.dat` and the `.bin` file in a package of `nrfutil`. The device checks the
/// signature in the init packet. An application is asked to start its bootloader with ``ButtonlessDFU``.
public struct SecureDFU: Profile {
    /// 0xFE59.
    public static let serviceUUID = BluetoothUUID.secureDFU
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) { self.service = service }

    private var point: ControlPoint<DFUResult> {
        ControlPoint(.dfuControlPoint, of: service, responseOpcode: DFUOpcode.response)
    }

    /// Transfers firmware. The transfer begins with the iteration.
    ///
    /// If the device has a part of the same init packet or firmware, as its checksum tells, the transfer goes on after
    /// it, and otherwise begins anew: call again after a lost link or a cancellation. When the sequence ends, the
    /// device resets and starts the firmware.
    ///
    /// Throws `procedureFailed` if the device refuses (``BLE/BLEError/result(_:)`` with ``DFUResult``), `uploadFailed`
    /// if an object has a wrong checksum three times in a row, `invalidLength` if the init packet is longer than the
    /// device accepts, `invalidArgument` if it or the firmware is empty, and the errors of connecting, subscribing and
    /// writing.
    ///
    /// - Parameters:
    ///   - initPacket: the bytes of the `.dat` file.
    ///   - firmware: the bytes of the `.bin` file.
    ///   - packetsPerChecksum: how many packets are sent before the device is asked for its checksum, at least 1. That
    ///     also paces the transfer.
    public func upload(
        initPacket: [UInt8], firmware: [UInt8], packetsPerChecksum: Int = 12
    ) -> FirmwareUpload {
        FirmwareUpload { (report) throws(BLEError) in
            try await transfer(initPacket, firmware, max(1, packetsPerChecksum)) { sent in
                report(UploadProgress(sentBytes: sent, totalBytes: firmware.count))
            }
        }
    }

    private func transfer(
        _ initPacket: [UInt8], _ firmware: [UInt8], _ interval: Int, _ report: @Sendable (Int) -> Void
    ) async throws(BLEError) {
        guard !initPacket.isEmpty, !firmware.isEmpty else {
            throw BLEError(.invalidArgument, "the init packet and the firmware must not be empty", isRetryable: false)
        }
        // One subscription for all requests.
        let answers = try await service.notifications(
            Characteristic<[UInt8]>(.dfuControlPoint), overflow: .dropOldest(capacity: 1))
        // Checksums are asked for instead of receipts.
        try await point.perform(DFUOpcode.setReceipts, [0, 0])
        for isNew in [false, true] {
            // A new init packet has the device forget what it has executed.
            _ = try await send(initPacket, as: .command, interval, isNew: isNew) { _ in }
            if try await send(firmware, as: .data, interval, isNew: isNew, report) { break }
        }
        await answers.end()
    }

    /// Transfers all objects of a type. Returns false if the device has something else.
    ///
    /// - Parameter isNew: whether to begin anew, whatever the device has.
    private func send(
        _ bytes: [UInt8], as type: DFUObjectType, _ interval: Int, isNew: Bool, _ report: @Sendable (Int) -> Void
    ) async throws(BLEError) -> Bool {
        let state = try DFUObjectState(
            decoding: try await point.perform(DFUOpcode.select, [type.rawValue]), hasSize: true)
        guard state.maximumSize > 0 else {
            throw BLEError(.uploadFailed, "the device accepts no objects", isRetryable: false).at(service.peripheral.id)
        }
        if type == .command, bytes.count > state.maximumSize {
            throw BLEError(
                .invalidLength, "the init packet has \(bytes.count) bytes, more than \(state.maximumSize)",
                isRetryable: false
            ).at(service.peripheral.id)
        }
        let sender = DFUSender(bytes, objectSize: state.maximumSize)
        var position: Int
        switch isNew ? .create : sender.start(state) {
        case .create: position = 0
        case .startOver:
            // Creating an init packet has the device forget everything.
            guard type == .command else { return false }
            position = 0
        case .resume(let offset):
            report(offset)
            position = sender.end(of: sender.begin(of: offset))
            if try await write(bytes[offset..<position], after: state.checksum, interval, report) == nil {
                position = sender.begin(of: offset)
            } else {
                try await point.perform(DFUOpcode.execute)
            }
        case .execute(let end):
            report(end)
            do throws(BLEError) {
                try await point.perform(DFUOpcode.execute)
            } catch  where error.result(DFUResult.self) == .notPermitted {
                // It was executed before.
            }
            position = end
        }
        var checksum = CRC32.checksum(bytes[..<position])
        var failures = 0
        while position < bytes.count {
            let end = sender.end(of: position)
            try await point.perform(
                DFUOpcode.create, [type.rawValue] + UInt32(truncatingIfNeeded: end - position).littleEndianBytes)
            guard let next = try await write(bytes[position..<end], after: checksum, interval, report) else {
                failures += 1
                guard failures < 3 else {
                    throw BLEError(
                        .uploadFailed, "the data at offset \(position) arrived with errors", isRetryable: true
                    ).at(service.peripheral.id)
                }
                continue
            }
            try await point.perform(DFUOpcode.execute)
            failures = 0
            (position, checksum) = (end, next)
        }
        return true
    }

    /// Writes a part of the bytes. Returns the checksum up to its end, or nil if the device has another one.
    ///
    /// - Parameter earlier: the checksum of the bytes before.
    private func write(
        _ part: ArraySlice<UInt8>, after earlier: UInt32, _ interval: Int, _ report: @Sendable (Int) -> Void
    ) async throws(BLEError) -> UInt32? {
        let length = try await packetLength()
        let key = service.key(CharacteristicKey(characteristic: .dfuPacket))
        var checksum = earlier
        var rest = part
        var count = 0
        while !rest.isEmpty {
            let packet = rest.prefix(length)
            try await service.peripheral.writeBytes(
                Array(packet), to: key, type: .withoutResponse, timeout: nil, connecting: false)
            checksum = CRC32.checksum(packet, after: checksum)
            rest = rest.dropFirst(length)
            count += 1
            guard count % interval == 0 || rest.isEmpty else { continue }
            let state = try DFUObjectState(
                decoding: try await point.perform(DFUOpcode.checksum), hasSize: false)
            guard state.offset == rest.startIndex, state.checksum == checksum else { return nil }
            report(state.offset)
        }
        return checksum
    }

    /// The length of packets, a multiple of 4, because the bootloader writes words.
    private func packetLength() async throws(BLEError) -> Int {
        do throws(BLEError) {
            return max(4, try await service.peripheral.maximumWriteLength(for: .withoutResponse) / 4 * 4)
        } catch  where error.code == .notSupported {
            return 20
        }
    }
}
