import Testing

@testable import BLEAssignedNumbers

@Suite struct NumberTableTests {
    private static let table = NumberTable("0001 One\n00a0 Ümläut, Inc.\nffff Last one\n")

    @Test(arguments: [(0x0001, "One"), (0x00A0, "Ümläut, Inc."), (0xFFFF, "Last one")] as [(UInt16, String)])
    func `a number has its name`(_ number: UInt16, _ name: String) {
        #expect(Self.table.name(number) == name)
    }

    @Test(arguments: [0x0000, 0x0002, 0x009F, 0x00A1, 0xFFFE] as [UInt16])
    func `a number between others has none`(_ number: UInt16) {
        #expect(Self.table.name(number) == nil)
        #expect(NumberTable("").name(number) == nil)
    }

    @Test func `entries are in order`() {
        let all = Self.table.entries { _ in true }
        #expect(all.map(\.number) == [0x0001, 0x00A0, 0xFFFF])
        #expect(all.map(\.name) == ["One", "Ümläut, Inc.", "Last one"])
        #expect(Self.table.entries { $0.count == 3 }.map(\.name) == ["One"])
        #expect(NumberTable("").entries { _ in true }.isEmpty)
    }
}
