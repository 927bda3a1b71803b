import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// The records of all kinds of machines. The names of the fields are in the tests of each kind.
@Suite struct FitnessMachineRecordTests {
    /// A kind of machine: the number of bytes of its flags, its flags, the number of bytes that each flag announces in
    /// the current edition, and how many fewer there are in the first edition.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let flagByteCount: Int
        let fieldBytes: [Int]
        let fewerInFirst: [Int: Int]
        let statements: Int
        let check: @Sendable ([UInt8]) throws -> (recoded: [UInt8], isSame: Bool)

        init<Record: FitnessMachineRecord>(
            _: Record.Type, flagByteCount: Int = 2, _ fieldBytes: [Int], fewerInFirst: [Int: Int] = [:],
            statements: Int = 0
        ) {
            testDescription = "\(Record.self)"
            self.flagByteCount = flagByteCount
            self.fieldBytes = fieldBytes
            self.fewerInFirst = fewerInFirst
            self.statements = statements
            check = { bytes in
                let record = try Record(bytes: bytes)
                let recoded = try record.encoded()
                return (recoded, try Record(bytes: recoded) == record)
            }
        }

        /// The flags with those bits set; bit 0 announces its field when it is not set.
        func spelled(_ bits: Int) -> [UInt8] {
            (0..<flagByteCount).map { UInt8(truncatingIfNeeded: (bits ^ 1) >> (8 * $0)) }
        }

        /// All flags that are not reserved.
        var known: Int { ((1 << fieldBytes.count) - 1) | statements }

        func announced(_ bits: Int) -> [Int] { fieldBytes.indices.filter { bits & 1 << $0 != 0 } }
    }

    static let kinds = [
        Kind(TreadmillData.self, [2, 2, 3, 4, 4, 2, 2, 5, 1, 1, 2, 2, 4], fewerInFirst: [5: 1, 6: 1]),
        Kind(
            CrossTrainerData.self, flagByteCount: 3, [2, 2, 3, 4, 2, 4, 4, 1, 2, 2, 5, 1, 1, 2, 2],
            fewerInFirst: [7: -1], statements: 1 << 15),
        Kind(StepClimberData.self, [4, 2, 2, 2, 5, 1, 1, 2, 2]),
        Kind(StairClimberData.self, [2, 2, 2, 2, 2, 5, 1, 1, 2, 2]),
        Kind(RowerData.self, [3, 1, 3, 2, 2, 2, 2, 1, 5, 1, 1, 2, 2], fewerInFirst: [7: -1]),
        Kind(IndoorBikeData.self, [2, 2, 2, 2, 3, 1, 2, 2, 5, 1, 1, 2, 2], fewerInFirst: [5: -1]),
    ]

    /// Bits of each field alone, of all, and of none.
    private func combinations(_ kind: Kind) -> [Int] {
        let all = (1 << kind.fieldBytes.count) - 1
        return kind.fieldBytes.indices.map { 1 << $0 } + [0, all, all & ~1, kind.statements, all | kind.statements]
    }

    @Test(arguments: kinds) func `each field alone and all together have their bytes, and none may be cut`(
        _ kind: Kind
    ) async throws {
        for bits in combinations(kind) {
            let fields = kind.announced(bits)
            let count = fields.reduce(0) { $0 + kind.fieldBytes[$1] }
            let bytes = kind.spelled(bits) + (0..<count).map { UInt8($0 + 1) }
            let (recoded, isSame) = try kind.check(bytes)
            #expect(recoded == bytes)
            #expect(isSame)
            let first = bytes.count - fields.reduce(0) { $0 + kind.fewerInFirst[$1, default: 0] }
            for cut in 0..<bytes.count where cut != first {
                await expectError(.invalidValue) { try kind.check(Array(bytes.prefix(cut))) }
            }
        }
    }

    @Test(arguments: kinds) func `the first edition is recognized by its length`(_ kind: Kind) throws {
        for bits in combinations(kind) {
            let fields = kind.announced(bits)
            let fewer = fields.reduce(0) { $0 + kind.fewerInFirst[$1, default: 0] }
            guard fewer != 0 else { continue }
            let count = fields.reduce(-fewer) { $0 + kind.fieldBytes[$1] }
            // Paces whose inverses are whole numbers, so that decoding returns the same paces.
            let bytes = kind.spelled(bits) + (0..<count).map { _ in 5 }
            let (recoded, isSame) = try kind.check(bytes)
            #expect(recoded == bytes)
            #expect(isSame)
        }
    }

    @Test(arguments: kinds) func `reserved flags and what they announce are passed over`(_ kind: Kind) throws {
        let reserved = ((1 << (8 * kind.flagByteCount)) - 1) & ~kind.known
        for bits in combinations(kind) {
            let count = kind.announced(bits).reduce(0) { $0 + kind.fieldBytes[$1] }
            let fields = (0..<count).map { UInt8($0 + 1) }
            for extra in 0...2 {
                let bytes = kind.spelled(bits | reserved) + fields + Array(repeating: 9, count: extra)
                #expect(try kind.check(bytes).recoded == kind.spelled(bits) + fields)
            }
        }
    }

    @Test(arguments: kinds) func `what is written is read again`(_ kind: Kind) throws {
        var generator = SeededGenerator(seed: 11)
        for round in 0..<400 {
            let bits = Int.random(in: 0...kind.known, using: &generator) & kind.known
            // Now and then, all fields that can be unavailable are.
            let bytes = (0..<60).map { _ in round % 8 == 0 ? 0xFF : UInt8.random(in: 0...255, using: &generator) }
            #expect(try kind.check(kind.spelled(bits) + bytes).isSame)
        }
    }

    @Test func `the first field comes with the last part only`() async {
        var bike = IndoorBikeData()
        await expectError(.invalidValue) { try bike.encoded() }
        bike.speedKilometersPerHour = 1
        #expect(throws: Never.self) { try bike.encoded() }
        bike.hasMoreData = true
        await expectError(.invalidValue) { try bike.encoded() }
    }

    @Test func `the greatest number of fields that come together is not written`() async throws {
        var rower = RowerData()
        rower.strokesPerMinute = 20
        #expect(try rower.encoded() == [0, 0, 40, 0xFF, 0xFF])
        rower.strokeCount = 65535
        await expectError(.invalidValue) { try rower.encoded() }
        rower.strokeCount = 65534
        #expect(try RowerData(bytes: rower.encoded()) == rower)
    }

    @Test func `a record is whole with the part that has no more data`() throws {
        var merger = FitnessRecordMerger<IndoorBikeData>()
        var first = IndoorBikeData()
        first.hasMoreData = true
        first.resistanceLevel = 300
        first.edition = .first
        var second = IndoorBikeData()
        second.hasMoreData = true
        second.powerWatts = 200
        var last = IndoorBikeData()
        last.speedKilometersPerHour = 30
        #expect(merger.add(second) == nil)
        #expect(merger.add(first) == nil)
        let whole = merger.add(last)
        let record = try #require(whole)
        #expect(!record.hasMoreData)
        #expect(record.edition == .first)
        #expect(record.resistanceLevel == 300)
        #expect(record.powerWatts == 200)
        #expect(record.speedKilometersPerHour == 30)
        // nothing of it is in the next
        #expect(merger.add(last) == last)
        #expect(merger.add(first) == nil)
        merger.reset()
        #expect(merger.add(last) == last)
    }

    @Test func `the later of two parts is right`() {
        var merger = FitnessRecordMerger<CrossTrainerData>()
        var part = CrossTrainerData()
        part.hasMoreData = true
        part.powerWatts = 1
        part.isBackward = true
        #expect(merger.add(part) == nil)
        part.hasMoreData = false
        part.powerWatts = 2
        part.speedKilometersPerHour = 3
        part.isBackward = false
        #expect(merger.add(part) == part)
    }
}
