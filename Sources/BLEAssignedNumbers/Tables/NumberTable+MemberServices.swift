// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// UUIDs that members of the SIG have for services of their own: 699.
    static var memberServices: NumberTable {
        NumberTable(#"""
        fc39 Harman International
        fc3a C.O.B.O. SpA
        fc3b BONX INC.
        fc3c Eforthink Technology Co., Ltd.
        fc3d Reelables, Inc.
        fc3e Google LLC
        fc3f Milwaukee Electric Tools
        fc41 Yoto Limited
        fc43 Atmosic Technologies, Inc.
        fc44 Block, Inc.
        fc45 Mitsubishi Electric Corporation
        fc46 Xiaomi
        fc47 Shanghai Ingeek Technology Co., Ltd.
        fc48 Michelin
        fc49 Golioth, Inc.
        fc4a Shenzhen Shokz Co.,Ltd.
        fc4b WinMagic Inc.
        fc4c HP Inc.
        fc4d Lodestar Technology Inc.
        fc4e Lodestar Technology Inc.
        fc4f WaveRF, Corp.
        fc50 Ant Group Co., Ltd.
        fc51 Ant Group Co., Ltd.
        fc52 LG Electronics Inc.
        fc53 LEGIC Identsystems AG
        fc54 Shenzhen Yinwang Intelligent Technologies Co., Ltd.
        fc55 BYD Company Limited
        fc56 Google LLC
        fc57 Ambient Life Inc.
        fc58 Shenzhen Minew Technologies Co., Ltd.
        fc59 Ant Group Co., Ltd.
        fc5a LAST LOCK INC.
        fc5b Time Location Systems AS
        fc5c PLASTIC RESEARCH AND DEVELOPMENT CORPORATION
        fc5d GP Acoustics International Limited
        fc5e KUBU SMART LIMITED
        fc5f PI-CRYSTAL INC.
        fc60 Ohme Operations UK Limited
        fc61 QIKCONNEX LLC
        fc62 SPRiNTUS GmbH
        fc63 Volvo Technology AB
        fc64 Volvo Technology AB
        fc65 Robor Electronics B.V.
        fc66 Xiaomi Inc.
        fc67 Guangdong Hengqin Xingtong Technology Co.,ltd.
        fc68 RIGH, INC.
        fc69 Harman International
        fc6a Sonos Inc
        fc6b Sonos Inc
        fc6c Powerstick.com
        fc6d MOTIVE TECHNOLOGIES, INC.
        fc6e stryker
        fc6f NextSense, Inc.
        fc70 MOTIVE TECHNOLOGIES, INC.
        fc71 Hive-Zox International SA
        fc72 iodyne, LLC
        fc73 Google LLC
        fc74 EMBEINT INC
        fc75 Xiaomi Inc.
        fc76 Weber-Stephen Products LLC
        fc77 SING SUN TECHNOLOGY (INTERNATIONAL) LIMITED
        fc78 DHL
        fc79 LG Electronics Inc.
        fc7a Outshiny India Private Limited
        fc7b Testo SE & Co. KGaA
        fc7c Motorola Mobility, LLC
        fc7d MML US, Inc
        fc7e Harman International
        fc7f Southco
        fc80 TELE System Communications Pte. Ltd.
        fc81 Axon Enterprise, Inc.
        fc82 Zwift, Inc.
        fc83 iHealth Labs, Inc.
        fc84 NINGBO FOTILE KITCHENWARE CO., LTD.
        fc85 Zhejiang Huanfu Technology Co., LTD
        fc86 Samsara Networks, Inc
        fc87 Samsara Networks, Inc
        fc88 CCC del Uruguay
        fc89 Intel Corporation
        fc8a Intel Corporation
        fc8b Kaspersky Lab Middle East FZ-LLC
        fc8c VusionGroup
        fc8d Caire Inc.
        fc8e Blue Iris Labs, Inc.
        fc8f Bose Corporation
        fc90 Wiliot LTD.
        fc91 Samsung Electronics Co., Ltd.
        fc92 Furuno Electric Co., Ltd.
        fc93 Komatsu Ltd.
        fc94 Apple Inc.
        fc95 Hippo Camp Software Ltd.
        fc96 LEGO System A/S
        fc97 Japan Display Inc.
        fc98 Ruuvi Innovations Ltd.
        fc99 Badger Meter
        fc9a Koppli AB
        fc9b Merry Electronics (S) Pte Ltd
        fc9d Lenovo (Singapore) Pte Ltd.
        fc9e Dell Computer Corporation
        fc9f Delta Development Team, Inc
        fca0 Apple Inc.
        fca1 PF SCHWEISSTECHNOLOGIE GMBH
        fca2 Meizu Technology Co., Ltd.
        fca3 Gunnebo Aktiebolag
        fca4 HP Inc.
        fca5 HAYWARD INDUSTRIES, INC.
        fca6 Hubble Network Inc.
        fca7 Hubble Network Inc.
        fca8 Medtronic Inc.
        fca9 Medtronic Inc.
        fcaa Spintly, Inc.
        fcab IRISS INC.
        fcac IRISS INC.
        fcad Beijing 99help Safety Technology Co., Ltd
        fcae Imagine Marketing Limited
        fcaf AltoBeam Inc.
        fcb0 Ford Motor Company
        fcb1 Google LLC
        fcb2 Apple Inc.
        fcb3 SWEEN
        fcb4 OMRON HEALTHCARE Co., Ltd.
        fcb5 OMRON HEALTHCARE Co., Ltd.
        fcb6 OMRON HEALTHCARE Co., Ltd.
        fcb7 T-Mobile USA
        fcb8 Ribbiot, INC.
        fcb9 Lumi United Technology Co., Ltd
        fcba BlueID GmbH
        fcbb SharkNinja Operating LLC
        fcbc Drowsy Digital, Inc.
        fcbd Toshiba Corporation
        fcbe Musen Connect, Inc.
        fcbf ASSA ABLOY Opening Solutions Sweden AB
        fcc0 Xiaomi Inc.
        fcc1 TIMECODE SYSTEMS LIMITED
        fcc2 Qualcomm Technologies, Inc.
        fcc3 HP Inc.
        fcc4 OMRON(DALIAN) CO,.LTD.
        fcc5 OMRON(DALIAN) CO,.LTD.
        fcc6 Wiliot LTD.
        fcc7 PB INC.
        fcc8 Allthenticate, Inc.
        fcc9 SkyHawke Technologies
        fcca Cosmed s.r.l.
        fccb TOTO LTD.
        fccd Marshall Group AB
        fcce Luna Health, Inc.
        fccf Google LLC
        fcd0 Laerdal Medical AS
        fcd1 Shenzhen Benwei Media Co.,Ltd.
        fcd2 Allterco Robotics ltd
        fcd3 Fisher & Paykel Healthcare
        fcd4 OMRON HEALTHCARE
        fcd5 Nortek Security & Control
        fcd6 SWISSINNO SOLUTIONS AG
        fcd7 PowerPal Pty Ltd
        fcd8 Appex Factory S.L.
        fcd9 Huso, INC
        fcda Draeger
        fcdb aconno GmbH
        fcdc Amazon.com Services, LLC
        fcdd Mobilaris AB
        fcde ARCTOP, INC.
        fcdf NIO USA, Inc.
        fce0 Akciju sabiedriba "SAF TEHNIKA"
        fce1 Sony Group Corporation
        fce2 Baracoda Daily Healthtech
        fce3 Smith & Nephew Medical Limited
        fce4 Samsara Networks, Inc
        fce5 Samsara Networks, Inc
        fce6 Guard RFID Solutions Inc.
        fce7 TKH Security B.V.
        fce8 ITT Industries
        fce9 MindRhythm, Inc.
        fcea Chess Wise B.V.
        fceb Avi-On
        fcec Griffwerk GmbH
        fced Workaround Gmbh
        fcee Velentium, LLC
        fcef Divesoft s.r.o.
        fcf0 Security Enhancement Systems, LLC
        fcf1 Google LLC
        fcf2 Bitwards Oy
        fcf3 Armatura LLC
        fcf4 Allegion
        fcf5 Trident Communication Technology, LLC
        fcf6 The Linux Foundation
        fcf7 Honor Device Co., Ltd.
        fcf8 Honor Device Co., Ltd.
        fcf9 Leupold & Stevens, Inc.
        fcfa Leupold & Stevens, Inc.
        fcfb Shenzhen Benwei Media Co., Ltd.
        fcfc Barrot Technology Co.,Ltd.
        fcfd Barrot Technology Co.,Ltd.
        fcfe Sonova Consumer Hearing GmbH
        fcff 701x
        fd00 FUTEK Advanced Sensor Technology, Inc.
        fd01 Sanvita Medical Corporation
        fd02 LEGO System A/S
        fd03 Quuppa Oy
        fd04 Shure Inc.
        fd05 Qualcomm Technologies, Inc.
        fd06 RACE-AI LLC
        fd07 Swedlock AB
        fd08 Bull Group Incorporated Company
        fd09 Cousins and Sears LLC
        fd0a Luminostics, Inc.
        fd0b Luminostics, Inc.
        fd0c OSM HK Limited
        fd0d Blecon Ltd
        fd0e HerdDogg, Inc
        fd0f AEON MOTOR CO.,LTD.
        fd10 AEON MOTOR CO.,LTD.
        fd11 AEON MOTOR CO.,LTD.
        fd12 AEON MOTOR CO.,LTD.
        fd13 BRG Sports, Inc.
        fd14 BRG Sports, Inc.
        fd15 Panasonic Corporation
        fd16 Sensitech, Inc.
        fd17 LEGIC Identsystems AG
        fd18 LEGIC Identsystems AG
        fd19 Smith & Nephew Medical Limited
        fd1a CSIRO
        fd1b Helios Sports, Inc.
        fd1c Brady Worldwide Inc.
        fd1d Samsung Electronics Co., Ltd
        fd1e Plume Design Inc.
        fd1f 3M
        fd20 GN Hearing A/S
        fd21 Huawei Technologies Co., Ltd.
        fd22 Huawei Technologies Co., Ltd.
        fd23 DOM Sicherheitstechnik GmbH & Co. KG
        fd24 GD Midea Air-Conditioning Equipment Co., Ltd.
        fd25 GD Midea Air-Conditioning Equipment Co., Ltd.
        fd26 Novo Nordisk A/S
        fd27 Integrated Illumination Systems, Inc.
        fd28 Julius Blum GmbH
        fd29 Asahi Kasei Corporation
        fd2a Sony Corporation
        fd2b The Access Technologies
        fd2c The Access Technologies
        fd2d Xiaomi Inc.
        fd2e Bitstrata Systems Inc.
        fd2f Bitstrata Systems Inc.
        fd30 Sesam Solutions BV
        fd31 LG Electronics Inc.
        fd32 Gemalto Holding BV
        fd33 DashLogic, Inc.
        fd34 Aerosens LLC.
        fd35 Transsion Holdings Limited
        fd36 Google LLC
        fd37 TireCheck GmbH
        fd38 Danfoss A/S
        fd39 PREDIKTAS
        fd3a Verkada Inc.
        fd3b Verkada Inc.
        fd3c Redline Communications Inc.
        fd3d Woan Technology (Shenzhen) Co., Ltd.
        fd3e Pure Watercraft, inc.
        fd3f Cognosos, Inc
        fd40 Beflex Inc.
        fd41 Amazon Lab126
        fd42 Globe (Jiangsu) Co.,Ltd
        fd43 Apple Inc.
        fd44 Apple Inc.
        fd45 GB Solution co.,Ltd
        fd46 Lemco IKE
        fd47 Liberty Global Inc.
        fd48 Geberit International AG
        fd49 Panasonic Corporation
        fd4a Sigma Elektro GmbH
        fd4b Samsung Electronics Co., Ltd.
        fd4c Adolf Wuerth GmbH & Co KG
        fd4d 70mai Co.,Ltd.
        fd4e 70mai Co.,Ltd.
        fd4f SONITOR TECHNOLOGIES AS
        fd50 Hangzhou Tuya Information Technology Co., Ltd
        fd51 UTC Fire and Security
        fd52 UTC Fire and Security
        fd53 PCI Private Limited
        fd54 Qingdao Haier Technology Co., Ltd.
        fd55 Braveheart Wireless, Inc.
        fd56 Resmed Ltd
        fd57 Volvo Car Corporation
        fd58 Volvo Car Corporation
        fd59 Samsung Electronics Co., Ltd.
        fd5a Samsung Electronics Co., Ltd.
        fd5b V2SOFT INC.
        fd5c React Mobile
        fd5d maxon motor ltd.
        fd5e Tapkey GmbH
        fd5f Meta Platforms Technologies, LLC
        fd60 Sercomm Corporation
        fd61 Arendi AG
        fd62 Google LLC
        fd63 Google LLC
        fd64 INRIA
        fd65 Razer Inc.
        fd66 Zebra Technologies Corporation
        fd67 Montblanc Simplo GmbH
        fd68 Ubique Innovation AG
        fd69 Samsung Electronics Co., Ltd
        fd6a Emerson
        fd6b rapitag GmbH
        fd6c Samsung Electronics Co., Ltd.
        fd6d Sigma Elektro GmbH
        fd6e Polidea sp. z o.o.
        fd6f Apple, Inc.
        fd70 GuangDong Oppo Mobile Telecommunications Corp., Ltd
        fd71 GN Hearing A/S
        fd72 Logitech International SA
        fd73 BRControls Products BV
        fd74 BRControls Products BV
        fd75 Insulet Corporation
        fd76 Insulet Corporation
        fd77 Withings
        fd78 Withings
        fd79 Withings
        fd7a Withings
        fd7b WYZE LABS, INC.
        fd7c Toshiba Information Systems(Japan) Corporation
        fd7d Center for Advanced Research Wernher Von Braun
        fd7e Samsung Electronics Co., Ltd.
        fd7f Husqvarna AB
        fd80 Phindex Technologies, Inc
        fd81 CANDY HOUSE, Inc.
        fd82 Sony Corporation
        fd83 iNFORM Technology GmbH
        fd84 Tile, Inc.
        fd85 Husqvarna AB
        fd86 Abbott
        fd87 Google LLC
        fd88 Urbanminded LTD
        fd89 Urbanminded LTD
        fd8a Signify Netherlands B.V.
        fd8b Jigowatts Inc.
        fd8c Google LLC
        fd8d quip NYC Inc.
        fd8e Motorola Solutions
        fd90 Guangzhou SuperSound Information Technology Co.,Ltd
        fd91 Groove X, Inc.
        fd92 Qualcomm Technologies International, Ltd. (QTIL)
        fd93 Bayerische Motoren Werke AG
        fd94 Hewlett Packard Enterprise
        fd95 Rigado
        fd96 Google LLC
        fd97 June Life, Inc.
        fd98 Disney Worldwide Services, Inc.
        fd99 ABB Oy
        fd9a Huawei Technologies Co., Ltd.
        fd9b Huawei Technologies Co., Ltd.
        fd9c Huawei Technologies Co., Ltd.
        fd9d Gastec Corporation
        fd9e The Coca-Cola Company
        fd9f VitalTech Affiliates LLC
        fda0 Secugen Corporation
        fda1 Groove X, Inc
        fda2 Groove X, Inc
        fda3 Inseego Corp.
        fda4 Inseego Corp.
        fda5 Neurostim OAB, Inc.
        fda6 WWZN Information Technology Company Limited
        fda7 WWZN Information Technology Company Limited
        fda8 PSA Peugeot Citroën
        fda9 Rhombus Systems, Inc.
        fdaa Xiaomi Inc.
        fdab Xiaomi Inc.
        fdac Tentacle Sync GmbH
        fdad Houwa System Design, k.k.
        fdae Houwa System Design, k.k.
        fdaf Wiliot LTD
        fdb0 Oura Health Ltd
        fdb1 Oura Health Ltd
        fdb2 Portable Multimedia Ltd
        fdb3 Audiodo AB
        fdb4 HP Inc
        fdb5 ECSG
        fdb6 GWA Hygiene GmbH
        fdb7 LivaNova USA Inc.
        fdb8 LivaNova USA Inc.
        fdbb Profoto
        fdbc Emerson
        fdbd Clover Network, Inc.
        fdbe California Things Inc.
        fdbf California Things Inc.
        fdc0 Hunter Douglas
        fdc1 Hunter Douglas
        fdc2 Baidu Online Network Technology (Beijing) Co., Ltd
        fdc3 Baidu Online Network Technology (Beijing) Co., Ltd
        fdc4 Simavita (Aust) Pty Ltd
        fdc5 Automatic Labs
        fdc6 Eli Lilly and Company
        fdc7 Eli Lilly and Company
        fdc8 Hach – Danaher
        fdc9 Busch-Jaeger Elektro GmbH
        fdca Fortin Electronic Systems
        fdcb Meggitt SA
        fdcc Shoof Technologies
        fdcd Qingping Technology (Beijing) Co., Ltd.
        fdce SENNHEISER electronic GmbH & Co. KG
        fdcf Nalu Medical, Inc
        fdd0 Huawei Technologies Co., Ltd
        fdd1 Huawei Technologies Co., Ltd
        fdd2 Bose Corporation
        fdd3 FUBA Automotive Electronics GmbH
        fdd4 LX Solutions Pty Limited
        fdd5 Brompton Bicycle Ltd
        fdd6 Ministry of Supply
        fdd7 Copeland Cold Chain LP
        fdd8 Jiangsu Teranovo Tech Co., Ltd.
        fdd9 Jiangsu Teranovo Tech Co., Ltd.
        fdda MHCS
        fddb Samsung Electronics Co., Ltd.
        fddc 4iiii Innovations Inc.
        fddd Arch Systems Inc
        fdde Noodle Technology Inc.
        fddf Harman International
        fde0 John Deere
        fde1 Fortin Electronic Systems
        fde2 Google LLC
        fde3 Abbott Diabetes Care
        fde4 JUUL Labs, Inc.
        fde5 SMK Corporation
        fde6 Intelletto Technologies Inc
        fde7 SECOM Co., LTD
        fde8 Robert Bosch GmbH
        fde9 Spacesaver Corporation
        fdea SeeScan, Inc
        fdeb Syntronix Corporation
        fdec Mannkind Corporation
        fded Pole Star
        fdee Huawei Technologies Co., Ltd.
        fdef ART AND PROGRAM, INC.
        fdf0 Google LLC
        fdf1 LAMPLIGHT Co.,Ltd
        fdf2 AMICCOM Electronics Corporation
        fdf3 Amersports
        fdf4 O. E. M. Controls, Inc.
        fdf5 Milwaukee Electric Tools
        fdf6 AIAIAI ApS
        fdf7 HP Inc.
        fdf8 Onvocal
        fdf9 INIA
        fdfa Tandem Diabetes Care
        fdfb Tandem Diabetes Care
        fdfc Optrel AG
        fdfd RecursiveSoft Inc.
        fdfe ADHERIUM(NZ) LIMITED
        fdff OSRAM GmbH
        fe00 Amazon.com Services, Inc.
        fe01 Duracell U.S. Operations Inc.
        fe02 Robert Bosch GmbH
        fe03 Amazon.com Services, Inc.
        fe04 Motorola Solutions, Inc.
        fe05 CORE Transport Technologies NZ Limited
        fe06 Qualcomm Technologies, Inc.
        fe07 Sonos, Inc.
        fe08 Microsoft
        fe09 Pillsy, Inc.
        fe0a ruwido austria gmbh
        fe0b ruwido austria gmbh
        fe0c Procter & Gamble
        fe0d Procter & Gamble
        fe0e Setec Pty Ltd
        fe0f Signify Netherlands B.V. (formerly Philips Lighting B.V.)
        fe10 LAPIS Technology Co., Ltd.
        fe11 GMC-I Messtechnik GmbH
        fe12 M-Way Solutions GmbH
        fe13 Apple Inc.
        fe14 Flextronics International USA Inc.
        fe15 Amazon.com Services, Inc..
        fe16 Footmarks, Inc.
        fe17 Telit Wireless Solutions GmbH
        fe18 Runtime, Inc.
        fe19 Google LLC
        fe1a Tyto Life LLC
        fe1b Tyto Life LLC
        fe1c NetMedia, Inc.
        fe1d Illuminati Instrument Corporation
        fe1e LAMPLIGHT Co., Ltd.
        fe1f Garmin International, Inc.
        fe20 Emerson
        fe21 Bose Corporation
        fe22 Zoll Medical Corporation
        fe23 Zoll Medical Corporation
        fe24 August Home Inc
        fe25 Apple, Inc.
        fe26 Google LLC
        fe27 Google LLC
        fe28 Ayla Networks
        fe29 Gibson Innovations
        fe2a DaisyWorks, Inc.
        fe2b ITT Industries
        fe2c Google LLC
        fe2d LAMPLIGHT Co., Ltd.
        fe2e ERi,Inc.
        fe2f CRESCO Wireless, Inc
        fe30 Volkswagen AG
        fe31 Volkswagen AG
        fe32 Pro-Mark, Inc.
        fe33 CHIPOLO d.o.o.
        fe34 SmallLoop LLC
        fe35 HUAWEI Technologies Co., Ltd
        fe36 HUAWEI Technologies Co., Ltd
        fe39 TTS Tooltechnic Systems AG & Co. KG
        fe3a TTS Tooltechnic Systems AG & Co. KG
        fe3b Dolby Laboratories
        fe3c alibaba
        fe3d BD Medical
        fe3e BD Medical
        fe3f Friday Labs Limited
        fe40 Inugo Systems Limited
        fe41 Inugo Systems Limited
        fe42 Nets A/S
        fe43 Andreas Stihl AG & Co. KG
        fe44 SK Telecom
        fe45 Snapchat Inc
        fe46 B&O Play A/S
        fe47 General Motors
        fe48 General Motors
        fe49 SenionLab AB
        fe4a OMRON HEALTHCARE Co., Ltd.
        fe4b Signify Netherlands B.V. (formerly Philips Lighting B.V.)
        fe4c Volkswagen AG
        fe4d Casambi Technologies Oy
        fe4e NTT docomo
        fe4f Molekule, Inc.
        fe50 Google LLC
        fe51 SRAM
        fe52 SetPoint Medical
        fe53 3M
        fe54 Motiv, Inc.
        fe55 Google LLC
        fe56 Google LLC
        fe57 Dotted Labs
        fe58 Nordic Semiconductor ASA
        fe59 Nordic Semiconductor ASA
        fe5a Cronologics Corporation
        fe5b GT-tronics HK Ltd
        fe5c million hunters GmbH
        fe5d Grundfos A/S
        fe5e Plastc Corporation
        fe5f Eyefi, Inc.
        fe60 Lierda Science & Technology Group Co., Ltd.
        fe61 Logitech International SA
        fe62 Indagem Tech LLC
        fe63 Connected Yard, Inc.
        fe64 Siemens AG
        fe65 CHIPOLO d.o.o.
        fe66 Intel Corporation
        fe67 Lab Sensor Solutions
        fe68 Capsle Technologies Inc.
        fe69 Capsle Technologies Inc.
        fe6a Kontakt Micro-Location Sp. z o.o.
        fe6b TASER International, Inc.
        fe6c TASER International, Inc.
        fe6d The University of Tokyo
        fe6e The University of Tokyo
        fe6f LINE Corporation
        fe70 Beijing Jingdong Century Trading Co., Ltd.
        fe71 Plume Design Inc
        fe72 Abbott (formerly St. Jude Medical, Inc.)
        fe73 Abbott (formerly St. Jude Medical, Inc.)
        fe74 unwire
        fe75 TangoMe
        fe76 TangoMe
        fe77 Hewlett-Packard Company
        fe78 Hewlett-Packard Company
        fe79 Zebra Technologies
        fe7a Bragi GmbH
        fe7b Orion Labs, Inc.
        fe7c Telit Wireless Solutions (Formerly Stollmann E+V GmbH)
        fe7d Aterica Health Inc.
        fe7e Awear Solutions Ltd
        fe7f Doppler Lab
        fe80 Doppler Lab
        fe81 Medtronic Inc.
        fe82 Medtronic Inc.
        fe83 Blue Bite
        fe84 RF Digital Corp
        fe85 RF Digital Corp
        fe86 HUAWEI Technologies Co., Ltd
        fe87 Qingdao Yeelink Information Technology Co., Ltd. ( 青岛亿联客信息技术有限公司 )
        fe88 SALTO SYSTEMS S.L.
        fe89 B&O Play A/S
        fe8a Apple, Inc.
        fe8b Apple, Inc.
        fe8c TRON Forum
        fe8d Interaxon Inc.
        fe8e ARM Ltd
        fe8f CSR
        fe90 JUMA
        fe91 Shanghai Imilab Technology Co.,Ltd
        fe92 Jarden Safety & Security
        fe93 OttoQ In
        fe94 OttoQ In
        fe95 Xiaomi Inc.
        fe96 Tesla Motors Inc.
        fe97 Tesla Motors Inc.
        fe98 Currant Inc
        fe99 Currant Inc
        fe9a Estimote
        fe9b Samsara Networks, Inc
        fe9c GSI Laboratories, Inc.
        fe9d Mobiquity Networks Inc
        fe9e Renesas Design Netherlands B.V.
        fe9f Google LLC
        fea0 Google LLC
        fea3 ITT Industries
        fea4 Paxton Access Ltd
        fea5 GoPro, Inc.
        fea6 GoPro, Inc.
        fea7 UTC Fire and Security
        fea8 Savant Systems LLC
        fea9 Savant Systems LLC
        feaa Google LLC
        feab Nokia
        feac Nokia
        fead Nokia
        feae Nokia
        feaf Nest Labs Inc
        feb0 Nest Labs Inc
        feb1 Electronics Tomorrow Limited
        feb2 Microsoft Corporation
        feb3 Taobao
        feb4 WiSilica Inc.
        feb5 WiSilica Inc.
        feb6 Vencer Co., Ltd
        feb7 Meta Platforms, Inc.
        feb8 Meta Platforms, Inc.
        feb9 LG Electronics
        feba Tencent Holdings Limited
        febb adafruit industries
        febc Dexcom Inc
        febd Clover Network, Inc
        febe Bose Corporation
        febf Nod, Inc.
        fec0 KDDI Corporation
        fec1 KDDI Corporation
        fec2 Blue Spark Technologies, Inc.
        fec3 360fly, Inc.
        fec4 PLUS Location Systems
        fec5 Realtek Semiconductor Corp.
        fec6 Kocomojo, LLC
        fec7 Apple, Inc.
        fec8 Apple, Inc.
        fec9 Apple, Inc.
        feca Apple, Inc.
        fecb Apple, Inc.
        fecc Apple, Inc.
        fecd Apple, Inc.
        fece Apple, Inc.
        fecf Apple, Inc.
        fed0 Apple, Inc.
        fed1 Apple, Inc.
        fed2 Apple, Inc.
        fed3 Apple, Inc.
        fed4 Apple, Inc.
        fed5 Plantronics Inc.
        fed6 Broadcom
        fed7 Broadcom
        fed8 Google LLC
        fed9 Pebble Technology Corporation
        feda ISSC Technologies Corp.
        fedb Perka, Inc.
        fedc Jawbone
        fedd Jawbone
        fede Coin, Inc.
        fee0 Anhui Huami Information Technology Co., Ltd.
        fee1 Anhui Huami Information Technology Co., Ltd.
        fee2 Anki, Inc.
        fee3 Anki, Inc.
        fee4 Nordic Semiconductor ASA
        fee5 Nordic Semiconductor ASA
        fee6 Silvair, Inc.
        fee7 Tencent Holdings Limited.
        fee8 Quintic Corp.
        fee9 Quintic Corp.
        feea Swirl Networks, Inc.
        feeb Swirl Networks, Inc.
        feec Tile, Inc.
        feed Tile, Inc.
        feee Polar Electro Oy
        feef Polar Electro Oy
        fef0 Intel
        fef1 CSR
        fef2 CSR
        fef3 Google LLC
        fef4 Google LLC
        fef5 Dialog Semiconductor GmbH
        fef6 Wicentric, Inc.
        fef7 Aplix Corporation
        fef8 Aplix Corporation
        fef9 PayPal, Inc.
        fefa PayPal, Inc.
        fefb Telit Wireless Solutions (Formerly Stollmann E+V GmbH)
        fefc Gimbal, Inc.
        fefd Gimbal, Inc.
        fefe GN Hearing A/S
        feff GN Netcom

        """#)
    }
}
